" Author: the authors of nginxopt
" Description: nginxopt, a linter and language server for nginx configurations

call ale#Set('nginx_nginxopt_executable', 'nginxopt')

function! ale_linters#nginx#nginxopt#GetProjectRoot(buffer) abort
    for l:name in ['nginxopt.toml', 'nginx.conf']
        let l:path = ale#path#FindNearestFile(a:buffer, l:name)

        if !empty(l:path)
            return fnamemodify(l:path, ':h')
        endif
    endfor

    let l:git = ale#path#FindNearestDirectory(a:buffer, '.git')

    return empty(l:git) ? expand('#' . a:buffer . ':p:h') : fnamemodify(l:git, ':h:h')
endfunction

call ale#linter#Define('nginx', {
\   'name': 'nginxopt',
\   'lsp': 'stdio',
\   'executable': {b -> ale#Var(b, 'nginx_nginxopt_executable')},
\   'command': '%e lsp',
\   'project_root': function('ale_linters#nginx#nginxopt#GetProjectRoot'),
\})
