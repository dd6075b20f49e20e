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
        claims = JSONObject([
            "iss": .string(issuer), "aud": .string(audience), "iat": .number(JSONNumber(now)),
            "exp": .number(JSONNumber(now + 120)), "jti": .string(Unguessable.make()),
            "sub": subject.map(JSONValue.string), "sid": sid.map(JSONValue.string),
            "events": .object(
                JSONObject(["http://schemas.openid.net/event/backchannel-logout": .object(JSONObject())])),
        ])
    }

    package func signed() throws -> String {
        try key.sign(header: header, payload: claims)
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
