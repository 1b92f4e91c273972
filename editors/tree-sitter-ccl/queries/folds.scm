; What can be folded away.

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
] @fold

(comment)+ @fold
(doc_comment)+ @fold
(file_comment)+ @fold
