" How ccl files are edited: comments, a level of four spaces, words; commands that the language server carries out.
if exists('b:did_ftplugin')
  finish
endif
let b:did_ftplugin = 1

setlocal commentstring=//\ %s
setlocal comments=:///,://!,://
setlocal formatoptions-=t formatoptions+=croql
setlocal expandtab shiftwidth=4 softtabstop=4
setlocal indentexpr=v:lua.require'ccl.indent'.columns(v:lnum) indentkeys=0{,0},0),0],!^F,o,O,e
setlocal suffixesadd=.ccl

command! -buffer -nargs=? CclBuild lua require('ccl').build(<q-args>)
command! -buffer -nargs=? CclRun lua require('ccl').run(<q-args>)
command! -buffer -nargs=? CclExplain lua require('ccl').explain(<q-args>)
command! -buffer -nargs=? CclElaborate lua require('ccl').elaborate(<q-args>)

let b:undo_ftplugin = 'setlocal commentstring< comments< formatoptions< expandtab< shiftwidth< softtabstop<'
      \ . ' indentexpr< indentkeys< suffixesadd<'
      \ . ' | delcommand -buffer CclBuild | delcommand -buffer CclRun'
      \ . ' | delcommand -buffer CclExplain | delcommand -buffer CclElaborate'
