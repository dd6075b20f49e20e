extension Page {
    /// What every form of a page repeats.
    private static func hidden(_ login: PendingLogin) -> String {
        """
        <input type="hidden" name="transaction" value="\(escape(login.transaction))">
        <input type="hidden" name="csrf_token" value="\(escape(login.csrfToken))">
        """
    }

    private static func problemNote(_ text: String?) -> String {
        text.map { "<p class=\"problem\" role=\"alert\">\(escape($0))</p>" } ?? ""
    }

    /// The form that `POST /second-factor` takes.
    static func secondFactor(_ login: PendingLogin, problem: String? = nil) -> Page {
        Page(
            title: "Second factor",
            content: """
                <p>to continue to <strong>\(escape(login.request.clientID))</strong></p>
                \(problemNote(problem))
                <form method="post" action="/second-factor">
                \(hidden(login))
                <label for="code">Code of your authenticator app</label>
                <input id="code" name="code" inputmode="numeric" autocomplete="one-time-code" maxlength="6">
                <button type="submit">Continue</button>
                </form>
                """)
    }

    /// The form that `POST /consent` takes.
    static func consent(_ login: PendingLogin) -> Page {
        let items = login.request.scope.map { "<li>\(escape(meanings[$0] ?? $0))</li>" }
        return Page(
            title: "Allow access",
            content: """
                <p><strong>\(escape(login.request.clientID))</strong> asks for:</p>
                <ul>
                \(items.joined(separator: "\n"))
                </ul>
                <form method="post" action="/consent">
                \(hidden(login))
                <button type="submit" name="decision" value="allow">Allow</button>
                <button type="submit" name="decision" value="deny">Deny</button>
                </form>
                """)
    }

    private static let meanings = [
        "openid": "know who you are", "profile": "your name", "email": "your email address",
        "offline_access": "access while you are away", "device_sso": "log in other apps on this device",
    ]

    /// The form that `POST /login` takes.
    static func login(_ login: PendingLogin, username: String, problem: String? = nil) -> Page {
        Page(
            title: "Log in",
            content: """
                <p>to continue to <strong>\(escape(login.request.clientID))</strong></p>
                \(problemNote(problem))
                <form method="post" action="/login">
                \(hidden(login))
                <label for="username">User name</label>
                <input id="username" name="username" autocomplete="username" value="\(escape(username))">
                <label for="password">Password</label>
                <input id="password" name="password" type="password" autocomplete="current-password">
                <button type="submit">Log in</button>
                </form>
                """)
    }

    /// Asks before a logout that no id_token vouches for: any page could have sent the browser here.
    static func confirmLogout(csrfToken: String, request: LogoutRequest) -> Page {
        let hidden = [
            ("csrf_token", csrfToken), ("client_id", request.clientID ?? ""),
            ("post_logout_redirect_uri", request.redirectURI ?? ""), ("state", request.state ?? ""),
        ]
        return Page(
            title: "Log out",
            content: """
                <form method="post" action="/logout">
                \(hidden.map { "<input type=\"hidden\" name=\"\($0.0)\" value=\"\(escape($0.1))\">" }
                    .joined(separator: "\n"))
                <button type="submit">Log out of everything</button>
                </form>
                """)
    }

    static let loggedOut = Page(title: "Logged out", content: "<p>You may close this page.</p>")

    static func problem(_ text: String) -> Page {
        Page(title: "That did not work", content: problemNote(text))
    }

    static func home(issuer: String) -> Page {
        Page(
            title: "Development identity provider",
            content: "<p><a href=\"/.well-known/openid-configuration\">\(escape(issuer))</a></p>")
    }
}
