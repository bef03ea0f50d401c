// Shows the number of available copies, in an element with an open shadow root as in component libraries.
customElements.define(
  'lib-availability',
  class extends HTMLElement {
    connectedCallback() {
      const root = this.attachShadow({ mode: 'open' });
      root.innerHTML = `<style>
        p { margin: 0; font: 600 1.05rem/1.5 system-ui, sans-serif; color: #143d33; }
        b { display: inline-grid; place-items: center; min-width: 34px; height: 34px; border-radius: 50%; background: #143d33; color: #fff; margin-right: 8px; }
        small { display: block; color: #c3b998; font-weight: 400; }
      </style><p><b></b><span></span></p><p><small></small></p>`;
      root.querySelector('b').textContent = this.getAttribute('copies');
      root.querySelector('span').textContent = this.getAttribute('label');
      root.querySelector('small').textContent = this.getAttribute('note');
    }
  },
);
