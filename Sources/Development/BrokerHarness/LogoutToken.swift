package import BrokerTesting
import Glibc
package import StrictCoding

/// A logout token in the making: every part of it can be bent before it is signed.
package struct LogoutToken: Sendable {
    package var header: JSONObject
    package var claims: JSONObject
    package var key: TestKey

    /// A good one, of this moment.
    package init(issuer: String, audience: String, subject: String? = nil, sid: String? = nil, key: TestKey) {
        self.key = key
        header = key.header()
        header["typ"] = .string("logout+jwt")
        let now = Int64(time(nil))
        var events = JSONObject()
        events["http://schemas.openid.net/event/backchannel-logout"] = .object(JSONObject())
        claims = JSONObject()
        claims["iss"] = .string(issuer)
        claims["aud"] = .string(audience)
        claims["iat"] = .number(JSONNumber(now))
        claims["exp"] = .number(JSONNumber(now + 120))
        claims["jti"] = .string(Unguessable.make())
        claims["sub"] = subject.map(JSONValue.string)
        claims["sid"] = sid.map(JSONValue.string)
        claims["events"] = .object(events)
    }

    package func signed() throws -> String {
        try key.sign(header: Self.text(of: header), payload: Self.text(of: claims))
    }

    private static func text(of object: JSONObject) -> String {
        var json = JSONWriter()
        json.value(.object(object))
        return String(decoding: json.bytes, as: UTF8.self)
    }
}

extension HTTPRequest {
    /// `POST /backchannel-logout`, for the internal listener.
    package static func logout(_ token: String) -> HTTPRequest {
        HTTPRequest.token([(name: "logout_token", value: token)], to: "/backchannel-logout")
    }
}

extension Broker {
    /// Tells this broker of a logout.
    package func logout(_ token: LogoutToken) async throws -> HTTPAnswer {
        try await HTTPRequest.logout(try token.signed()).send(to: internalPort)
    }
}

extension LoginFactory {
    /// The end of a login, by its `sid`.
    package func logout(_ login: Login) -> LogoutToken {
        LogoutToken(issuer: issuer, audience: source, sid: login.sid, key: key)
    }

    /// The end of all logins of its user.
    package func logoutEverywhere(_ login: Login) -> LogoutToken {
        LogoutToken(issuer: issuer, audience: source, subject: login.token.claims.string("sub"), key: key)
    }
}
