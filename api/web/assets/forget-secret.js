/** Removes secrets from the page when it is left, so that the browser's back button does not show them again. */
addEventListener('pagehide', () => {
  for (const element of document.querySelectorAll('[data-secret]')) element.textContent = element.dataset.forgotten;
});
