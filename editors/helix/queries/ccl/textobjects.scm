; What can be selected and jumped to.

(function value: (_) @function.inside) @function.around
(procedure body: (_) @function.inside) @function.around
(program body: (_) @class.inside) @class.around
(collective body: (_) @class.inside) @class.around
(topology body: (_) @class.inside) @class.around
(parameter) @parameter.inside
(comment) @comment.inside
(doc_comment)+ @comment.around
