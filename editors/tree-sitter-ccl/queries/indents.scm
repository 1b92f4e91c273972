; How lines are indented: a level of four spaces inside brackets, and for what goes on in the next line.

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
] @indent.begin

[
  (transfer)
  (synchronise)
  (let)
  (function)
  (require)
  (channel)
  (machine)
  (rank_count)
  (link)
  (ports)
  (property)
] @indent.begin

["}" "]" ")"] @indent.branch @indent.end

[(comment) (doc_comment) (file_comment)] @indent.auto
