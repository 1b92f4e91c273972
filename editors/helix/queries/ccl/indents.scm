; How lines are indented.

[
  (collective_body)
  (topology_body)
  (switch_body)
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
  (missing_links)
] @indent

[(transfer) (synchronise) (let) (function) (require) (channel) (machine) (rank_count) (link) (ports) (property)] @indent

["}" "]" ")"] @outdent
