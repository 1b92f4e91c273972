// Programs are colored once more, since the page's own script ran before the language was known.
document.querySelectorAll('code.language-ccl').forEach((block) => hljs.highlightBlock(block));
