; Which names are known where. No name hides another, so that a scope only says where one ends.

[
  (file)
  (function)
  (procedure)
  (collective)
  (topology)
  (link)
  (switch)
  (ports)
  (program)
  (body)
  (for)
  (ensures)
  (each)
  (set)
  (arguments)
  (scratch)
  (channel)
  (semaphore)
  (block)
] @local.scope

(use_name name: (identifier) @local.definition .)
(use_name alias: (identifier) @local.definition)
(use module: (identifier) @local.definition . ";")
(use alias: (identifier) @local.definition)

(function name: (identifier) @local.definition (#set! definition.function.scope "parent"))
(procedure name: (identifier) @local.definition (#set! definition.function.scope "parent"))
(collective name: (identifier) @local.definition (#set! definition.function.scope "parent"))
(topology name: (identifier) @local.definition (#set! definition.function.scope "parent"))
(program name: (identifier) @local.definition (#set! definition.function.scope "parent"))
(switch name: (identifier) @local.definition (#set! definition.var.scope "parent"))
(scratch name: (identifier) @local.definition (#set! definition.var.scope "parent"))
(channel name: (identifier) @local.definition (#set! definition.var.scope "parent"))
(semaphore name: (identifier) @local.definition (#set! definition.var.scope "parent"))
(block name: (identifier) @local.definition (#set! definition.var.scope "parent"))
(parameter name: (identifier) @local.definition)
(let name: (identifier) @local.definition)
(binder name: (identifier) @local.definition)

(identifier) @local.reference
