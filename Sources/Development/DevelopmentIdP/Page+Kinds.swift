extension Page {
    /// The form that `POST /login` takes.
    static func login(_ login: PendingLogin, username: String, problem: String? = nil) -> Page {
        Page(
            title: "Log in",
            content: """
                <p>to continue to <strong>\(escape(login.request.clientID))</strong></p>
                \(problem.map { "<p class=\"problem\">\(escape($0))</p>" } ?? "")
                <form method="post" action="/login">
                <input type="hidden" name="transaction" value="\(escape(login.transaction))">
                <input type="hidden" name="csrf_token" value="\(escape(login.csrfToken))">
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
        Page(title: "That did not work", content: "<p class=\"problem\">\(escape(text))</p>")
    }

    static func home(issuer: String) -> Page {
        Page(
            title: "Development identity provider",
            content: "<p><a href=\"/.well-known/openid-configuration\">\(escape(issuer))</a></p>")
    }
}
