/// The page: three texts, no framework.
enum PageText {
    static let html = """
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>native-sso: one login, two apps</title>
        <link rel="stylesheet" href="/page.css">
        <script src="/page.js" defer></script>
        </head>
        <body>
        <header>
        <h1>One login, two apps</h1>
        <p>Every button sends real requests on this machine. For development only.</p>
        </header>
        <main>
        <section id="map" aria-label="Who takes part">
        \(phone(SampleApp.one, "App one", login))
        <section class="box" id="keychain" aria-labelledby="keychain-title">
        <h2 id="keychain-title">Shared keychain</h2>
        <ul id="keychain-items"></ul>
        \(button("steal the keychain"))
        </section>
        \(phone(SampleApp.two, "App two", button("open app two", SampleApp.two)))
        <section class="box" id="idp"><h2>IdP</h2><p id="issuer"></p>
        \(button("sign out"))</section>
        <section class="box" id="broker"><h2>Broker</h2><p>POST /token</p>
        \(button("end session as operator"))</section>
        <section class="box" id="server-a"><h2>ServerA</h2><p>\(SampleAPI.a.scope)</p></section>
        <section class="box" id="server-b"><h2>ServerB</h2><p>\(SampleAPI.b.scope)</p></section>
        </section>
        <section aria-labelledby="steps-title">
        <h2 id="steps-title">The steps of the 2018 profile</h2>
        <ol id="steps" start="0">
        \(steps)
        </ol>
        </section>
        <section aria-labelledby="result-title">
        <h2 id="result-title">What happened</h2>
        <p id="summary" role="status" aria-live="polite"></p>
        <div id="exchanges"></div>
        </section>
        </main>
        </body>
        </html>

        """

    private static let login = """
        <label>profile <select id="profile">
        \(Phones.profiles.map { "<option value=\"\($0)\">\($0.label)</option>" }.joined(separator: "\n"))
        </select></label>
        <label><input type="checkbox" id="consent"> ask for consent</label>
        <label><input type="checkbox" id="second-factor"> ask for the second factor</label>
        <p class="hint">Log in as <span id="username"></span>, password <span id="password"></span>, code <span id="code"></span></p>
        \(button("log in", SampleApp.one))
        \(button("open web app", SampleApp.one))
        """

    /// Its text is the name of the press.
    private static func button(_ press: String, _ app: SampleApp? = nil) -> String {
        let target = app.map { " data-app=\"\($0.clientID)\"" } ?? ""
        return "<button type=\"button\" data-press=\"\(press)\"\(target)>\(press)</button>"
    }

    private static func phone(_ app: SampleApp, _ title: String, _ first: String) -> String {
        """
        <section class="box phone" id="\(app.clientID)" aria-labelledby="\(app.clientID)-title">
        <h2 id="\(app.clientID)-title">\(title)</h2>
        <dl><dt>memory</dt><dd class="memory"></dd><dt>own keychain</dt><dd class="own"></dd></dl>
        \(first)
        \(["call API", "kill app", "expire token", "lose the answer"].map { button($0, app) }.joined(separator: "\n"))
        </section>
        """
    }

    private static let steps = [
        "App one makes a device identifier.", "It starts the login.", "The browser opens /authorize with PKCE.",
        "The IdP asks the user to log in.", "The user's credentials are validated.",
        "The IdP sends the browser back with a code.",
        "The app receives the code.", "It exchanges the code for tokens and sends its device identifier.",
        "The id_token comes with di_hash and sid; it goes to the shared keychain.",
        "App two sends the id_token and the device identifier to the broker.",
        "The broker answers with app two's own access and refresh token.",
    ].enumerated().map { "<li id=\"step-\($0)\" value=\"\($0)\">\($1)</li>" }.joined(separator: "\n")

    static let style = """
        :root { color-scheme: light dark; --line: #8888; --lit: #1a7f37; --bad: #b3261e; }
        body { font: 16px/1.4 system-ui, sans-serif; margin: 1rem auto; max-width: 72rem; padding: 0 1rem; }
        h1 { font-size: 1.5rem; } h2 { font-size: 1rem; margin: 0 0 .5rem; }
        #map { display: grid; grid-template-columns: repeat(12, 1fr); gap: .75rem; }
        .box { border: 1px solid var(--line); border-radius: .5rem; padding: .75rem; grid-column: span 3; }
        .phone { grid-column: span 4; border-width: 3px; border-radius: 1.5rem; }
        #keychain { grid-column: span 4; }
        .box.asked { border-color: var(--lit); box-shadow: 0 0 0 2px var(--lit); }
        button, select { font: inherit; margin: .15rem .15rem .15rem 0; padding: .3rem .6rem; }
        label { display: block; }
        button:focus-visible, select:focus-visible, input:focus-visible, summary:focus-visible { outline: 3px solid #0969da; outline-offset: 2px; }
        dl { display: grid; grid-template-columns: max-content 1fr; gap: 0 .5rem; margin: 0 0 .5rem; } dd { margin: 0; }
        ul { padding-left: 1rem; margin: 0 0 .5rem; overflow-wrap: anywhere; } .hint { font-size: .85rem; }
        #steps li { opacity: .55; } #steps li.lit { opacity: 1; font-weight: 600; color: var(--lit); }
        .exchange { border: 1px solid var(--line); border-radius: .5rem; margin: .5rem 0; padding: .5rem .75rem; }
        .exchange.refused { border-color: var(--bad); } .exchange h3 { font-size: 1rem; margin: 0 0 .25rem; }
        .wire { display: grid; grid-template-columns: 1fr 1fr; gap: .75rem; }
        pre { white-space: pre-wrap; overflow-wrap: anywhere; font-size: .8rem; margin: 0; }
        .explanation, #summary.failed { color: var(--bad); } #summary { font-weight: 600; }
        @media (max-width: 50rem) { .box, .phone, #keychain { grid-column: span 12; } .wire { grid-template-columns: 1fr; } }

        """

    static let script = """
        'use strict';
        const find = (id) => document.getElementById(id);
        const buttons = () => document.querySelectorAll('button[data-press]');

        function element(name, className, text) {
          const made = document.createElement(name);
          if (className) made.className = className;
          if (text !== undefined) made.textContent = text;
          return made;
        }

        function show(state) {
          find('issuer').textContent = state.issuer;
          find('profile').value = state.profile;
          for (const name of ['username', 'password', 'code']) find(name).textContent = state[name];
          for (const app of state.apps) {
            const phone = find(app.client_id);
            const left = app.expires_at - Math.floor(Date.now() / 1000);
            phone.querySelector('.memory').textContent =
              app.memory ? `access token ${app.memory}, ${left > 0 ? left + ' s left' : 'expired'}` : 'empty';
            phone.querySelector('.own').textContent = app.keychain ? 'refresh token' : 'empty';
          }
          const items = state.keychain.map((text) => element('li', '', text));
          find('keychain-items').replaceChildren(...(items.length ? items : [element('li', '', 'empty')]));
          document.querySelectorAll('#steps li').forEach((item, number) => {
            item.classList.toggle('lit', state.steps.includes(number));
          });
          const summary = find('summary');
          summary.textContent = (state.press ? state.press + ': ' : '') + state.summary;
          summary.classList.toggle('failed', state.failed);
          document.querySelectorAll('.box').forEach((box) => box.classList.remove('asked'));
          find('exchanges').replaceChildren(...state.exchanges.map(exchange));
        }

        function exchange(one, index) {
          const article = element('article', 'exchange' + (one.status >= 400 ? ' refused' : ''));
          article.append(element('h3', '', `${index + 1}. ${one.from} → ${one.address}: ${one.status}`
            + (one.lost ? ' (the answer is lost)' : '')));
          light(one);
          if (one.explanation) article.append(element('p', 'explanation', 'explain: ' + one.explanation));
          const wire = element('div', 'wire');
          wire.append(element('pre', 'request', one.request), element('pre', 'answer', one.answer));
          article.append(wire);
          for (const token of one.tokens) {
            const details = element('details', 'token');
            details.append(element('summary', '', `${token.name}, decoded`));
            details.append(element('pre', '', token.header + '\\n\\n' + token.claims));
            article.append(details);
          }
          return article;
        }

        function light(one) {
          const url = one.address === 'broker' ? null : new URL(one.address);
          const path = url ? url.pathname : '';
          const id = !url ? 'broker' : path === '\(SampleAPI.a.path)' ? 'server-a' : path === '\(SampleAPI.b.path)' ? 'server-b'
            : one.address.startsWith(find('issuer').textContent + '/') ? 'idp' : 'broker';
          find(id).classList.add('asked');
          const from = find(one.from);
          if (from) from.classList.add('asked');
        }

        // What the server answers, or why it does not.
        async function ask(path, options) {
          try {
            const response = await fetch(path, options);
            return await response.json();
          } catch (error) {
            return { refused: 'The demonstration does not answer: ' + error.message };
          }
        }

        function take(answer) {
          if (answer.refused) {
            find('summary').textContent = answer.refused;
            find('summary').classList.add('failed');
          } else {
            show(answer);
          }
          buttons().forEach((one) => { one.disabled = false; });
          document.body.dataset.busy = 'no';
        }

        async function press(button) {
          const pressed = document.activeElement === button;
          buttons().forEach((one) => { one.disabled = true; });
          find('summary').textContent = button.dataset.press + ' …';
          document.body.dataset.busy = 'yes';
          const answer = await ask('/press', {
            method: 'POST', headers: { 'Content-Type': 'application/json' },
            body: JSON.stringify({
              press: button.dataset.press, app: button.dataset.app || '', profile: find('profile').value,
              consent: find('consent').checked, second_factor: find('second-factor').checked,
            }),
          });
          if (answer.navigate) { location.assign(answer.navigate); return; }
          take(answer);
          if (pressed) button.focus();
        }

        buttons().forEach((button) => button.addEventListener('click', () => press(button)));
        // Also after Back, where the browser shows the page as it was left.
        window.addEventListener('pageshow', async () => {
          document.body.dataset.busy = 'yes';
          take(await ask('/state'));
        });

        """
}
