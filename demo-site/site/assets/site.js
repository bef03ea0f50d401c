// Counts the visits of a session in the footer's data attribute, as many sites do.
const visits = Number(sessionStorage.getItem('visits') ?? 0) + 1;
sessionStorage.setItem('visits', String(visits));
document.documentElement.dataset.visits = String(visits);
