; What is colored how, in Helix's names. Of several patterns that match a node, the first one counts.

(comment) @comment.line
(doc_comment) @comment.block.documentation
(file_comment) @comment.block.documentation
(string) @string
(escape) @constant.character.escape
(integer) @constant.numeric.integer
(boolean) @constant.builtin.boolean

(function name: (identifier) @function)
(procedure name: (identifier) @function)
(collective name: (identifier) @function)
(topology name: (identifier) @function)
(program name: (identifier) @function)
(parameter name: (identifier) @variable.parameter)
(named_argument name: (identifier) @variable.parameter)
(option_setting name: (identifier) @variable.other.member)
(map_entry name: (identifier) @variable.other.member)
(setting name: (identifier) @variable.other.member)
(property name: (identifier) @variable.other.member)
(type (identifier) @type.builtin)
(type ["block" "channel" "semaphore"] @type.builtin)
(attribute name: (identifier) @attribute)
(attribute ["#" "[" "]"] @attribute)
(use module: (identifier) @namespace)

(implements collective: (identifier) @function)
(machine topology: (identifier) @function)
(call procedure: (identifier) @function)
((function_call function: (identifier) @function.builtin)
  (#any-of? @function.builtin "rank_at" "min" "max" "abs" "sum" "all" "any" "begun" "same" "reduce" "memory" "port" "switch"))
(function_call function: (identifier) @function)
(method_call method: (identifier) @function.method)
(modifier value: (identifier) @constant.builtin)
(property value: (list (identifier) @constant.builtin))
((option_setting value: (identifier) @constant.builtin)
  (#any-of? @constant.builtin "Simple" "LL" "interleaved" "none"))
((identifier) @variable.builtin
  (#any-of? @variable.builtin
    "rank" "ranks" "peers" "node" "nodes" "local_rank" "ranks_per_node" "node_peers" "rail_peers" "input" "output"))
(field name: (identifier) @variable.other.member)
(identifier) @variable

["use" "as"] @keyword.control.import
["fn" "proc" "collective" "topology" "program"] @keyword.function
[
  "let" "options" "scratch" "channel" "semaphore" "block" "group" "pipeline" "require" "ensures" "in_place" "link" "switch"
  "ports"
] @keyword.storage
"for" @keyword.control.repeat
["if" "else"] @keyword.control.conditional
["in" "via" "to" "slice" "of" "op" "on" "without"] @keyword
(relaxed) @keyword
(transfer verb: _ @keyword.operator)
(synchronise verb: _ @keyword.operator)
(barrier "barrier" @keyword.operator)
(sync "sync" @keyword.operator)
(modifier name: _ @keyword)
(size buffer: _ @variable.builtin)
(rank_count word: _ @variable.builtin)
(in_place buffer: _ @variable.builtin)

[
  "||" "&&" "==" "!=" "<" "<=" ">" ">=" "|" "^" "&" "<<" ">>" "+" "-" "*" "/" "%" "!" ".." "..=" "..+" "=" "->" "<->"
] @operator
(all) @operator
["(" ")" "{" "}" "[" "]"] @punctuation.bracket
["," ";" ":" "::" "."] @punctuation.delimiter
