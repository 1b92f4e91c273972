// Colors the programs again: the page's own script ran before the language was registered.
document.querySelectorAll('code.language-ccl').forEach((block) => hljs.highlightBlock(block));
