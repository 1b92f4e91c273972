; Other languages inside.

((doc_comment (text) @injection.content)
  (#set! injection.language "markdown")
  (#set! injection.combined))

((comment) @injection.content
  (#set! injection.language "comment"))
