;;; ccl-mode.el --- Major mode for ccl, a language for collective communication  -*- lexical-binding: t -*-

;; Version: 0.1.0
;; Package-Requires: ((emacs "27.1"))
;; Keywords: languages

;;; Commentary:

;; Highlighting, indentation, an index and the language server for `.ccl' files.  Emacs has a library `ccl' of its own,
;; which is something else, so all names here begin with `ccl-mode'.

;;; Code:

(require 'prog-mode)
(require 'rx)
(require 'thingatpt)
(require 'url-util)

(defgroup ccl-mode nil
  "Programs for collective communication between GPUs."
  :group 'languages
  :prefix "ccl-mode-")

;; Risky: Emacs asks before it takes the value from a folder's or a file's local variables.
(defcustom ccl-mode-server '("ccl-lsp" "--stdio")
  "The command line of the language server."
  :type '(repeat string)
  :risky t)

(defcustom ccl-mode-indent 4
  "Number of columns by which each level is indented."
  :type 'natnum
  :safe #'natnump)

(defconst ccl-mode--declarations
  '("use" "let" "fn" "proc" "collective" "program" "options" "require" "scratch" "channel" "semaphore" "block" "group"
    "pipeline" "topology" "link"))

(defconst ccl-mode--controls '("for" "in" "if" "else" "as" "via" "relaxed"))

(defconst ccl-mode--future '("flow" "synthesize"))

(defconst ccl-mode--verbs
  '("copy" "put" "put_with_signal" "put_with_signal_and_flush" "get" "reduce" "broadcast" "put_packets"
    "read_put_packets" "copy_packets" "unpack_packets" "reduce_packets" "broadcast_packets" "signal" "wait" "flush"
    "acquire" "release" "barrier" "sync"))

(defconst ccl-mode--types '("int" "bool" "rank" "rate" "time" "chunk" "buffer" "channel" "semaphore" "block"))

(defconst ccl-mode--builtins
  '("rank" "ranks" "peers" "node" "nodes" "local_rank" "ranks_per_node" "node_peers" "rail_peers" "input" "output"
    "in_place" "ensures" "op" "to" "std" "unit" "slice" "of" "chunks" "ports" "on" "without"
    "bandwidth" "latency" "abilities"))

(defconst ccl-mode--functions
  '("rank_at" "min" "max" "abs" "sum" "all" "any" "begun" "same" "memory" "port" "switch" "len" "position" "contains" "step" "rev"))

(defconst ccl-mode--options
  '("name" "protocol" "threads" "instances" "replication" "message_size" "alignment" "double_scratch" "reuse_resources"
    "tags" "fuse" "auto_sync" "split_blocks"))

(defconst ccl-mode--values '("Simple" "LL" "interleaved" "none" "before" "after" "both"))

(defconst ccl-mode--abilities '("memory" "port" "multicast" "reduce"))

(defconst ccl-mode--units
  '("KiB" "MiB" "GiB" "Bps" "KBps" "MBps" "GBps" "TBps" "Kbps" "Mbps" "Gbps" "Tbps" "ns" "us" "ms"))

(defconst ccl-mode--attributes '("allow" "shared" "clobber"))

(defun ccl-mode--words (words)
  "A pattern that matches each of WORDS as a whole word."
  (regexp-opt words 'symbols))

(defconst ccl-mode--font-lock
  `((,(rx bol (* space) (group "//" (or "!" (seq "/" (or eol (not "/")))) (* nonl))) 1 font-lock-doc-face t)
    (,(rx "#[" (* (not "]")) "]") 0 font-lock-preprocessor-face keep)
    (,(rx symbol-start (or "fn" "proc" "collective" "topology" "program") (+ space) (group (+ (or (syntax word) (syntax symbol)))))
     1 font-lock-function-name-face)
    (,(rx symbol-start (or "scratch" "channel" "semaphore" "switch" "block" "let") (+ space)
          (group (+ (or (syntax word) (syntax symbol)))))
     1 font-lock-variable-name-face)
    (,(concat "\\(?:^\\|[];{}]\\)[ \t]*" (ccl-mode--words ccl-mode--verbs)) 1 font-lock-builtin-face)
    (,(concat "\\(?::\\|->\\)[ \t]*" (ccl-mode--words ccl-mode--types)) 1 font-lock-type-face)
    (,(rx symbol-start (group "switch") (+ space) (or (syntax word) (syntax symbol))) 1 font-lock-keyword-face)
    (,(rx symbol-start "abilities" (* space) "=" (* space) "[")
     (,(ccl-mode--words ccl-mode--abilities)
      (save-excursion (skip-chars-forward "^];\n") (point)) nil (1 font-lock-constant-face)))
    (,(ccl-mode--words ccl-mode--declarations) . font-lock-keyword-face)
    (,(ccl-mode--words ccl-mode--controls) . font-lock-keyword-face)
    (,(ccl-mode--words ccl-mode--future) . font-lock-warning-face)
    (,(ccl-mode--words '("true" "false")) . font-lock-constant-face)
    (,(concat (ccl-mode--words ccl-mode--functions) "[ \t]*(") 1 font-lock-function-name-face)
    (,(concat (ccl-mode--words ccl-mode--options) "[ \t]*=[^=]") 1 font-lock-variable-name-face)
    (,(concat "=[ \t]*" (ccl-mode--words ccl-mode--values)) 1 font-lock-constant-face)
    (,(ccl-mode--words ccl-mode--attributes) . font-lock-preprocessor-face)
    (,(ccl-mode--words ccl-mode--builtins) . font-lock-builtin-face)
    (,(concat "\\_<[0-9][0-9_]*\\(?:\\.[0-9][0-9_]*\\)?" (regexp-opt ccl-mode--units) "?\\_>") . font-lock-constant-face)))

(defvar ccl-mode-syntax-table
  (let ((table (make-syntax-table)))
    (modify-syntax-entry ?_ "_" table)
    (modify-syntax-entry ?/ ". 12" table)
    (modify-syntax-entry ?\n ">" table)
    (modify-syntax-entry ?\" "\"" table)
    (modify-syntax-entry ?\\ "\\" table)
    (dolist (sign '(?+ ?- ?* ?% ?& ?| ?^ ?! ?< ?> ?= ?. ?\; ?: ?# ?,))
      (modify-syntax-entry sign "." table))
    table)
  "Comments, strings and words of ccl.")

(defvar ccl-mode-imenu
  `((nil ,(rx bol (* space) (or "fn" "proc" "collective" "topology" "program") (+ space)
              (group (+ (or (syntax word) (syntax symbol)))) (* space) "(")
         1)
    ("Blocks" ,(rx bol (* space) "block" (+ space) (group (+ (or (syntax word) (syntax symbol))))) 1)
    ("Channels" ,(rx bol (* space) "channel" (+ space) (group (+ (or (syntax word) (syntax symbol))))) 1))
  "Declarations that the index of a file lists.")

(defun ccl-mode--depth ()
  "How many lines have brackets that are open at this line.
Those that it begins by closing do not count."
  (save-excursion
    (back-to-indentation)
    (let ((open (reverse (nth 9 (save-excursion (syntax-ppss (line-beginning-position)))))))
      (while (looking-at "[]})]")
        (pop open)
        (forward-char))
      (length (delete-dups (mapcar #'line-number-at-pos open))))))

(defun ccl-mode--continues ()
  "Whether this line continues the previous one."
  (save-excursion
    (back-to-indentation)
    (unless (looking-at "[]})]\\|//\\|$")
      (let ((opening (nth 1 (syntax-ppss)))
            (filters (looking-at-p "if\\_>")))
        (forward-comment (- (point)))
        (cond
         ((memq (char-before) '(?\; ?{ ?} ?\[ ?\( nil)) nil)
         ((eq (char-before) ?\]) (not (ccl-mode--attribute)))
         ;; In a list, what comes after its binders, and their conditions, are not deeper than they are.
         ((or filters (memq (char-before) '(?, ?:))) (or (null opening) (ccl-mode--body opening)))
         (t t))))))

(defun ccl-mode--attribute ()
  "Whether the bracket that is closed before point is that of an attribute."
  (save-excursion
    (backward-list)
    (eq (char-before) ?#)))

(defun ccl-mode--before-body ()
  "Whether the statement of this line goes on with a body."
  (save-excursion
    (let ((depth (car (syntax-ppss (line-beginning-position)))))
      (back-to-indentation)
      (while (and (re-search-forward "[;{}]" nil 'move)
                  (let ((state (save-excursion (syntax-ppss (1- (point))))))
                    (or (nth 8 state) (/= (car state) depth)))))
      (and (eq (char-before) ?{) (looking-at-p "[ \t]*$")))))

(defun ccl-mode--body (opening)
  "Whether the bracket at OPENING begins a body, not a list."
  (save-excursion
    (and opening
         (goto-char opening)
         (eq (char-after) ?{)
         (progn (skip-chars-backward " \t") t)
         (memq (char-syntax (or (char-before) ?\s)) '(?w ?_ ?\))))))

(defun ccl-mode-indent-line ()
  "Indent this line by the brackets around it."
  (interactive)
  (let* ((deeper (cond ((not (ccl-mode--continues)) 0)
                       ((ccl-mode--before-body) 2)
                       (t 1)))
         (column (* ccl-mode-indent (+ (ccl-mode--depth) deeper))))
    (if (<= (current-column) (current-indentation))
        (indent-line-to column)
      (save-excursion (indent-line-to column)))))

;;;###autoload
(define-derived-mode ccl-mode prog-mode "ccl"
  "Major mode for ccl programs."
  (setq-local comment-start "// ")
  (setq-local comment-end "")
  (setq-local comment-start-skip "//[/!]?[ \t]*")
  (setq-local font-lock-defaults '(ccl-mode--font-lock))
  (setq-local indent-line-function #'ccl-mode-indent-line)
  (setq-local indent-tabs-mode nil)
  (setq-local electric-indent-chars (append "{}()[];" electric-indent-chars))
  (setq-local imenu-generic-expression ccl-mode-imenu))

;;;###autoload
(add-to-list 'auto-mode-alist '("\\.ccl\\'" . ccl-mode))

;; Commands that the language server carries out, through eglot.

(declare-function eglot-current-server "eglot")
(declare-function jsonrpc-request "jsonrpc")

(defun ccl-mode--execute (command &rest arguments)
  "The answer of the language server to COMMAND with ARGUMENTS.
It may take as long as the server gives it, which is a minute."
  (let ((server (or (and (fboundp 'eglot-current-server) (eglot-current-server))
                    (user-error "The language server does not run for this buffer; `M-x eglot' starts it"))))
    (jsonrpc-request server :workspace/executeCommand
                     (list :command command :arguments (vconcat arguments))
                     ;; The text that was typed last is sent first.
                     :deferred t :timeout 65)))

(defun ccl-mode--program ()
  "The name of the program at point, or of the first one; nil if there is none."
  (let ((program (rx bol (* space) "program" (+ space) (group (+ (or (syntax word) (syntax symbol)))))))
    (save-excursion
      (end-of-line)
      (when (or (re-search-backward program nil t) (re-search-forward program nil t))
        (match-string-no-properties 1)))))

(defun ccl-mode--uri ()
  "The address of the file of this buffer."
  (concat "file://" (url-hexify-string (expand-file-name (or buffer-file-name (user-error "This buffer has no file")))
                                       url-path-allowed-chars)))

(defun ccl-mode-build ()
  "Build the plan of the program at point, next to its file."
  (interactive)
  (let ((built (ccl-mode--execute "ccl-lsp.build" (ccl-mode--uri) (ccl-mode--program))))
    (message "Built %s" (file-relative-name (plist-get built :path)))))

(defun ccl-mode-run ()
  "Run the program at point, and show the verdict."
  (interactive)
  (let ((verdict (ccl-mode--execute "ccl-lsp.run" (ccl-mode--uri) (ccl-mode--program))))
    (message "%s" (plist-get verdict :text))))

(defun ccl-mode-explain (code)
  "Show the page of CODE, such as \"E0501\"."
  (interactive (list (let ((near (ccl-mode--code)))
                       (read-string (if near (format "Explain code (default %s): " near) "Explain code: ")
                                    nil nil near))))
  (let ((page (ccl-mode--execute "ccl-lsp.explain" code)))
    (with-help-window (format "*ccl %s*" code)
      (princ page))))

(defun ccl-mode--code ()
  "The code that is written at point, if one is."
  (let ((word (thing-at-point 'symbol t)))
    (and word (string-match-p "\\`[EWN][0-9]\\{4\\}\\'" word) word)))

(defvar eglot-server-programs)
(with-eval-after-load 'eglot
  (add-to-list 'eglot-server-programs (cons 'ccl-mode ccl-mode-server)))

(provide 'ccl-mode)

;;; ccl-mode.el ends here
