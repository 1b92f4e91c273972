; What is colored how; the same as for other editors. Of several patterns that match a node, the last one counts.

(identifier) @variable
(field name: (identifier) @property)

((identifier) @variable.special
  (#any-of? @variable.special
    "rank" "ranks" "peers" "node" "nodes" "local_rank" "ranks_per_node" "node_peers" "rail_peers" "input" "output"))

; Declarations

(function name: (identifier) @function)
(procedure name: (identifier) @function)
(collective name: (identifier) @function)
(topology name: (identifier) @function)
(program name: (identifier) @function)
(parameter name: (identifier) @variable)
(named_argument name: (identifier) @variable)
(option_setting name: (identifier) @property)
(map_entry name: (identifier) @property)
(setting name: (identifier) @property)
(type (identifier) @type)
(type ["block" "channel" "semaphore"] @type)
(attribute name: (identifier) @attribute)
(attribute ["#" "[" "]"] @attribute)
(use module: (identifier) @namespace)

; Uses

(implements collective: (identifier) @function)
(machine topology: (identifier) @function)
(call procedure: (identifier) @function)
(function_call function: (identifier) @function)
((function_call function: (identifier) @function)
  (#any-of? @function "rank_at" "min" "max" "abs" "sum" "all" "any" "begun" "same" "reduce" "memory" "port" "switch"))
(method_call method: (identifier) @function)
((option_setting value: (identifier) @constant)
  (#any-of? @constant "Simple" "LL" "interleaved" "none"))
(modifier value: (identifier) @constant)
(property value: (list (identifier) @constant))
(property name: (identifier) @property)

; Words

["use" "as"] @keyword
["fn" "proc" "collective" "topology" "program"] @keyword
[
  "let" "options" "scratch" "channel" "semaphore" "block" "group" "pipeline" "require" "ensures" "in_place" "link" "switch"
  "ports"
] @keyword
(type ["block" "channel" "semaphore"] @type)
"for" @keyword
["if" "else"] @keyword
["in" "via" "to" "slice" "of" "op" "on" "without"] @keyword
(relaxed) @keyword
(transfer verb: _ @keyword)
(synchronise verb: _ @keyword)
(barrier "barrier" @keyword)
(sync "sync" @keyword)
(modifier name: _ @keyword)
(size buffer: _ @variable.special)
(rank_count word: _ @variable.special)
(in_place buffer: _ @variable.special)

; Signs and literals

[
  "||" "&&" "==" "!=" "<" "<=" ">" ">=" "|" "^" "&" "<<" ">>" "+" "-" "*" "/" "%" "!" ".." "..=" "..+" "=" "->" "<->"
] @operator
(all) @operator
["(" ")" "{" "}"] @punctuation.bracket
(index ["[" "]"] @punctuation.bracket)
(list ["[" "]"] @punctuation.bracket)
(dimensions ["[" "]"] @punctuation.bracket)
(size ["[" "]"] @punctuation.bracket)
(type ["[" "]"] @punctuation.bracket)
(channel_end ["[" "]"] @punctuation.bracket)
(missing_links ["[" "]"] @punctuation.bracket)
["," ";" ":" "::" "."] @punctuation.delimiter

(integer) @number
(string) @string
(escape) @string.escape
(boolean) @boolean
(comment) @comment
(doc_comment) @comment.doc
(file_comment) @comment.doc
