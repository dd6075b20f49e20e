import HTTPTypes
import Hummingbird
import OAuthWire

/// The parameters of a request, each at most once (RFC 6749 §3.1 and §3.2).
extension Request {
    /// Those in the query of the address.
    func queryParameters() throws(FormError) -> FormParameters {
        try FormDecoder.decode((uri.query ?? "").utf8, rules: .browser)
    }

    /// The parameters of a posted form of at most 64 KiB; nil if the body is not a form.
    func formParameters() async throws(FormError) -> FormParameters? {
        guard let type = headers[.contentType],
            type.prefix(while: { $0 != ";" }).lowercased() == "application/x-www-form-urlencoded",
            let body = try? await body.collect(upTo: 64 << 10)
        else { return nil }
        return try FormDecoder.decode(body.readableBytesView, rules: .browser)
    }

    /// Those of the query or of the form, as the method has it. Browsers may be sent both ways.
    func parameters() async throws(FormError) -> FormParameters? {
        method == .post ? try await formParameters() : try queryParameters()
    }
}

extension FormRules {
    /// What comes through a browser or to the token endpoint: nothing is long but an id_token that serves as a hint.
    fileprivate static let browser = FormRules(
        maximumValueLength: 2048, valueLengths: ["id_token_hint": 16 << 10, "device_secret": 4096])
}

extension HTTPFields {
    /// Sets a field that swift-http-types has no constant for.
    mutating func set(_ name: StaticString, _ value: String) {
        guard let name = HTTPField.Name("\(name)") else { return }
        self[name] = value
    }
}

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
