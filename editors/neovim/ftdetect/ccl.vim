autocmd BufRead,BufNewFile *.ccl setfiletype ccl
