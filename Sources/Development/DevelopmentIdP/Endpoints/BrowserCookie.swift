import Hummingbird

/// The two cookies of a browser.
///
/// A browser sends the cookies of one host to all of its ports, so that the name tells two providers of one machine apart.
struct BrowserCookie: Sendable {
    /// The single sign-on session.
    let session: String
    /// Names the browser before there is a session, so that a login form is good in one browser only.
    let browser: String

    init(port: Int) {
        session = "development_idp_session_\(port)"
        browser = "development_idp_browser_\(port)"
    }

    /// Not `Secure`: this server speaks plain HTTP, on loopback. `Lax`, because an app brings the browser here from outside.
    static func make(_ name: String, _ value: String) -> Cookie {
        Cookie(name: name, value: value, path: "/", httpOnly: true, sameSite: .lax)
    }

    static func expire(_ name: String) -> Cookie {
        Cookie(name: name, value: "", maxAge: 0, path: "/", httpOnly: true, sameSite: .lax)
    }
}
