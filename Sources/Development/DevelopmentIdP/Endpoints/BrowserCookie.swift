import Hummingbird

/// The two cookies of a browser.
enum BrowserCookie {
    /// The single sign-on session.
    static let session = "development_idp_session"
    /// Names the browser before there is a session, so that a login form is good in one browser only.
    static let browser = "development_idp_browser"

    /// Not `Secure`: this server speaks plain HTTP, on loopback. `Lax`, because an app brings the browser here from outside.
    static func make(_ name: String, _ value: String) -> Cookie {
        Cookie(name: name, value: value, path: "/", httpOnly: true, sameSite: .lax)
    }

    static func expire(_ name: String) -> Cookie {
        Cookie(name: name, value: "", maxAge: 0, path: "/", httpOnly: true, sameSite: .lax)
    }
}
