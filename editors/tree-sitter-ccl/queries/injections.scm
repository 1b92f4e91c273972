; Other languages inside: Markdown in documentation, marks such as TODO in comments.

((doc_comment (text) @injection.content)
  (#set! injection.language "markdown")
  (#set! injection.combined))

((file_comment (text) @injection.content)
  (#set! injection.language "markdown")
  (#set! injection.combined))

((comment) @injection.content
  (#set! injection.language "comment"))
