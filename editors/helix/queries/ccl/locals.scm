; Which names are known where.

[(function) (procedure) (collective) (topology) (link) (switch) (ports) (program) (body) (for) (each) (set) (ensures)] @local.scope

(parameter name: (identifier) @local.definition.variable.parameter)
(binder name: (identifier) @local.definition.variable)
(let name: (identifier) @local.definition.variable)

(identifier) @local.reference
