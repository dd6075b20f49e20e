"""Presses every button of the page with the two phones in headless Chromium, over the DevTools protocol's pipe.

page_in_browser.py CHROMIUM PAGE SCREENSHOTS: ends with 0 if every press did what it says; one line for each step.
"""

import base64
import fcntl
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

PATIENCE = 60  # seconds


class Browser:
    """One tab. Commands go to file descriptor 3 of Chromium and answers come from 4, each ended by a NUL."""

    def __init__(self, program, profile):
        to_browser, self.to = os.pipe()
        self.incoming, from_browser = os.pipe()
        # High numbers, so that 3 and 4 are free for the child.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 100) for end in (to_browser, from_browser)]

        def give():
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        libraries = pathlib.Path(program).parents[2] / "lib" / "x86_64-linux-gnu"
        environment = dict(os.environ, HOME=profile, LD_LIBRARY_PATH=f"{libraries}:{libraries}/pulseaudio")
        self.process = subprocess.Popen(
            [program, "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             f"--user-data-dir={profile}", "--window-size=1280,1600", "about:blank"],
            preexec_fn=give, pass_fds=(3, 4), env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for end in (to_browser, from_browser, *ends):
            os.close(end)
        self.buffer, self.count, self.problems, self.session = b"", 0, [], None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setFocusEmulationEnabled", enabled=True)

    def message(self):
        while b"\0" not in self.buffer:
            chunk = os.read(self.incoming, 65536)
            if not chunk:
                raise SystemExit("Chromium ended")
            self.buffer += chunk
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **parameters):
        self.count += 1
        command = {"id": self.count, "method": method, "params": parameters}
        if self.session:
            command["sessionId"] = self.session
        os.write(self.to, json.dumps(command).encode() + b"\0")
        while True:
            message = self.message()
            if message.get("id") == self.count:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            self.note(message)

    def note(self, message):
        """What a strict policy refused, and what a script did not catch."""
        if message.get("method") == "Runtime.exceptionThrown":
            self.problems.append(json.dumps(message["params"]["exceptionDetails"])[:500])
        entry = message.get("params", {}).get("entry", {})
        if message.get("method") == "Log.entryAdded" and entry["level"] == "error" and "favicon" not in entry.get("url", ""):
            self.problems.append(f"{entry['text']} {entry.get('url', '')}")

    def value(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"]
        return result.get("value")

    def wait(self, expression, what):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                # As a truth value: an element of the page comes back as an empty object.
                if self.value(f"!!({expression})"):
                    return
            except RuntimeError:
                pass  # The page is being replaced.
            time.sleep(0.05)
        raise SystemExit(f"not within {PATIENCE} s: {what}; the page shows: {self.value('document.body.innerText')}")

    def key(self, key, code):
        text = {"Enter": "\r", " ": " "}.get(key, "")
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key if key != " " else "Space",
                      windowsVirtualKeyCode=code, text=text if kind == "keyDown" else "")

    def tab_to(self, expression, what):
        for _ in range(60):
            self.key("Tab", 9)
            if self.value(f"(() => {{ const at = document.activeElement; return {expression}; }})()"):
                return
        raise SystemExit(f"the keyboard does not reach {what}")

    def type(self, name, text):
        self.value(f"document.querySelector('[name={name}]').focus()")
        self.value(f"document.querySelector('[name={name}]').select()")
        self.call("Input.insertText", text=text)

    def screenshot(self, folder, name):
        # A page that was parsed just now may have no layout yet.
        self.wait("document.readyState === 'complete' && document.documentElement.scrollWidth > 0", f"a layout: {name}")
        data = self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]
        (folder / f"{name}.png").write_bytes(base64.b64decode(data))


class Page:
    def __init__(self, browser, address, folder):
        self.browser, self.address, self.folder = browser, address, folder
        browser.call("Page.navigate", url=address)
        self.ready("the page")

    def ready(self, what):
        self.browser.wait(f"location.href === '{self.address}' && document.body.dataset.busy === 'no'", what)

    def text(self, selector):
        return self.browser.value(f"document.querySelector('{selector}').textContent")

    def lit(self):
        return self.browser.value("[...document.querySelectorAll('#steps li.lit')].map(one => one.value)")

    def exchanges(self):
        return self.browser.value(
            "[...document.querySelectorAll('.exchange')].map(one => ({"
            " title: one.querySelector('h3').textContent, request: one.querySelector('.request').textContent,"
            " answer: one.querySelector('.answer').textContent,"
            " explanation: one.querySelector('.explanation')?.textContent || '',"
            " tokens: [...one.querySelectorAll('.token')].map(token => token.textContent)}))")

    def press(self, name, app=None, by_keyboard=False):
        selector = f'button[data-press="{name}"]' + (f'[data-app="{app}"]' if app else "")
        if by_keyboard:
            self.browser.tab_to(f"at.matches('{selector}')", name)
            self.browser.key("Enter", 13)
        else:
            self.browser.value(f"document.querySelector('{selector}').click()")
        return name

    def result(self, name):
        self.ready(name)
        failed = self.browser.value("document.querySelector('#summary').classList.contains('failed')")
        summary = self.text("#summary")
        print(f"{name}: {summary}", flush=True)
        check(not failed, f"{name} succeeds: {summary}")
        return self.exchanges()

    def begin_login(self, profile, consent=False, second_factor=False, by_keyboard=False):
        browser = self.browser
        browser.value(f"document.querySelector('#profile').value = '{profile}'")
        browser.value(f"document.querySelector('#consent').checked = {json.dumps(consent)}")
        browser.value(f"document.querySelector('#second-factor').checked = {json.dumps(second_factor)}")
        self.press("log in", by_keyboard=by_keyboard)

    def log_in(self, profile, consent=False, second_factor=False, by_keyboard=False, in_session=False):
        browser = self.browser
        user, password, code = (self.text(f"#{name}") for name in ("username", "password", "code"))
        self.begin_login(profile, consent, second_factor, by_keyboard)
        if not in_session:
            browser.wait("document.querySelector('[name=password]')", "the login form")
            browser.screenshot(self.folder, "idp-login")
            browser.type("username", user)
            browser.type("password", password)
            browser.key("Enter", 13)
        if second_factor:
            browser.wait("document.querySelector('form[action=\"/second-factor\"]')", "the second factor's form")
            browser.screenshot(self.folder, "idp-second-factor")
            browser.type("code", code)
            browser.key("Enter", 13)
        if consent:
            browser.wait("document.querySelector('form[action=\"/consent\"]')", "the consent's form")
            browser.screenshot(self.folder, "idp-consent")
            browser.tab_to("at.value === 'allow'", "the button Allow")
            browser.key("Enter", 13)
        return self.result("log in")


def check(condition, expectation):
    if not condition:
        raise SystemExit(f"not so: {expectation}")


def main(program, address, folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(program, profile)
        try:
            walk(browser, Page(browser, address, folder), folder)
            check(not browser.problems, f"no error in the browser: {browser.problems}")
        finally:
            browser.process.kill()
            browser.process.wait()


def walk(browser, page, folder):
    browser.screenshot(folder, "page-before")
    check(page.lit() == [], "no step is lit")

    done = page.log_in("deviceID", consent=True, second_factor=True, by_keyboard=True)
    check(page.lit() == list(range(9)), f"steps 0 to 8 are lit, not {page.lit()}")
    check("di_hash" in page.text("#keychain-items"), "the keychain holds an id_token with di_hash")
    check("code_verifier=" in done[0]["request"] and "HTTP/1.1 200" in done[0]["answer"], "the code was exchanged")
    check(any("urn:example:acr:totp" in token for token in done[0]["tokens"]), "the id_token names the second factor")

    page.press("open app two", by_keyboard=True)
    done = page.result("open app two")
    check(page.lit() == list(range(11)), "every step is lit")
    check("token-exchange" in done[0]["request"] and "device-id" in done[0]["request"], "it is the exchange of 2018")
    check(any("client_id: app-two" in token for token in done[0]["tokens"]), "the access token is app two's")
    browser.screenshot(folder, "page-both-apps")

    page.press("call API", "app-two")
    done = page.result("call API")
    check([one["title"][-3:] for one in done] == ["200", "200"], "both servers answer 200")
    check("server-b" in done[1]["answer"], "ServerB is one of them")

    page.press("open web app", "app-one")
    done = page.result("open web app")
    check(len(done) == 2 and "web-handoff" in done[0]["request"], "app one gets a code")
    check("handoff_verifier=" in done[1]["request"] and "id_token" in done[1]["answer"], "the web app gets tokens")

    page.press("kill app", "app-two")
    page.result("kill app")
    check(page.text("#app-two .memory") == "empty" and page.text("#app-two .own") == "refresh token", "memory is gone")

    page.press("expire token", "app-two")
    done = page.result("expire token")
    check([one["title"][-3:] for one in done][-3:] == ["401", "200", "200"], "401, then a refresh, then 200")
    check("grant_type=refresh_token" in done[-2]["request"], "it was refreshed")

    page.press("lose the answer", "app-two")
    done = [one for one in page.result("lose the answer") if "grant_type=refresh_token" in one["request"]]
    lost, again = done[-2:]
    check("the answer is lost" in lost["title"] and "lost" not in again["title"], "one answer is lost")

    def successor(one):
        return next(line for line in one["answer"].splitlines() if "refresh_token" in line)
    check(successor(lost) == successor(again), "the repeated request got the same successor")

    page.press("steal the keychain")
    done = page.result("steal the keychain")
    check(len(done) == 2 and all("invalid_grant" in one["answer"] for one in done), "both thieves are refused")
    check(all(one["explanation"].startswith("explain: ") for one in done), "explain says why")
    check(done[0]["explanation"] != done[1]["explanation"], "for two reasons")
    browser.screenshot(folder, "page-thief")

    page.press("call API", "app-one")
    check(len(page.result("call API")) == 3, "app one exchanges its own login and asks both servers")

    page.press("end session as operator")
    done = page.result("end session as operator")
    check("session end" in done[0]["request"], "the command is shown")
    check("invalid_grant" in done[1]["answer"] and done[1]["explanation"], "app two is refused, and explain says why")
    browser.screenshot(folder, "page-session-ended")

    # The operator's end has left the IdP's session, in which the next login must show the form all the same.
    for profile in ("deviceID", "deviceSecret", "enrolled", "redeemed"):
        share_login(page, profile)
        share_login(page, profile, in_session=True)

        page.begin_login(profile, consent=True)
        browser.wait("document.querySelector('form[action=\"/consent\"]')", "the consent's form")
        browser.value("history.back()")
        page.ready("Back")
        check(browser.value("[...document.querySelectorAll('button')].every(one => !one.disabled)"), "after Back buttons work")
        share_login(page, profile, in_session=True)

        page.press("sign out")
        check_refused(page, "sign out", profile)
        share_login(page, profile)
        page.press("end session as operator")
        check_refused(page, "end session as operator", profile)


def share_login(page, profile, in_session=False):
    page.log_in(profile, in_session=in_session)
    claim = "di_hash" if profile == "deviceID" else "ds_hash"
    check(claim in page.text("#keychain-items"), f"{profile}: the keychain holds an id_token with {claim}")
    check(page.text("#app-two .own") == "empty", f"{profile}: the phone is a new one")
    page.press("open app two")
    page.result("open app two")


def check_refused(page, press, profile):
    refused = page.result(press)[-1]
    check("invalid_grant" in refused["answer"] and refused["explanation"], f"{profile}: app two is refused")
    check(page.text("#keychain-items") == "empty", f"{profile}: the keychain is empty")


main(*sys.argv[1:])
