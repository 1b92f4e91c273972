; How lines are indented.

[
  (collective_body)
  (program_body)
  (body)
  (options)
  (in_place)
  (ensures)
  (use_list)
  (list)
  (set)
  (map)
  (conditional)
  (arguments)
  (parameters)
  (parenthesized)
  (each)
] @indent

[(transfer) (synchronise) (let) (function) (require) (channel)] @indent

["}" "]" ")"] @outdent
