; What is colored how. Of several patterns that match a node, the last one counts.

(identifier) @variable
(field name: (identifier) @property)

((identifier) @variable.builtin
  (#any-of? @variable.builtin
    "rank" "ranks" "peers" "node" "nodes" "local_rank" "ranks_per_node" "node_peers" "rail_peers" "input" "output"))

; Declarations

(function name: (identifier) @function)
(procedure name: (identifier) @function)
(collective name: (identifier) @function)
(topology name: (identifier) @function)
(program name: (identifier) @function)
(parameter name: (identifier) @variable.parameter)
(named_argument name: (identifier) @variable.parameter)
(option_setting name: (identifier) @property)
(map_entry name: (identifier) @property)
(setting name: (identifier) @property)
(type (identifier) @type)
(type ["block" "channel" "semaphore"] @type)
(attribute name: (identifier) @attribute)
(attribute ["#" "[" "]"] @attribute)
(use module: (identifier) @module)

; Uses

(implements collective: (identifier) @function.call)
(machine topology: (identifier) @function.call)
(call procedure: (identifier) @function.call)
(function_call function: (identifier) @function.call)
((function_call function: (identifier) @function.builtin)
  (#any-of? @function.builtin "rank_at" "min" "max" "abs" "sum" "all" "any" "begun" "same" "reduce" "memory" "port" "switch"))
(method_call method: (identifier) @function.method)
((option_setting value: (identifier) @constant.builtin)
  (#any-of? @constant.builtin "Simple" "LL" "interleaved" "none"))
(modifier value: (identifier) @constant.builtin)
(property value: (list (identifier) @constant.builtin))
(property name: (identifier) @property)

; Words

["use" "as"] @keyword.import
["fn" "proc" "collective" "topology" "program"] @keyword.function
[
  "let" "options" "scratch" "channel" "semaphore" "block" "group" "pipeline" "require" "ensures" "in_place" "link" "switch"
  "ports"
] @keyword
(type ["block" "channel" "semaphore"] @type)
"for" @keyword.repeat
["if" "else"] @keyword.conditional
["in" "via" "to" "slice" "of" "op" "on" "without"] @keyword
(relaxed) @keyword.modifier
(transfer verb: _ @keyword.operator)
(synchronise verb: _ @keyword.operator)
(barrier "barrier" @keyword.operator)
(sync "sync" @keyword.operator)
(modifier name: _ @keyword)
(size buffer: _ @variable.builtin)
(rank_count word: _ @variable.builtin)
(in_place buffer: _ @variable.builtin)

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
(doc_comment) @comment.documentation
(file_comment) @comment.documentation
