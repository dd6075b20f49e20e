import BrokerTesting
package import StrictCoding

/// The `events` member of a security event token.
package enum SecurityEventType {
    package static let sessionRevoked = "https://schemas.openid.net/secevent/caep/event-type/session-revoked"
    package static let accountDisabled = "https://schemas.openid.net/secevent/risc/event-type/account-disabled"
    package static let accountEnabled = "https://schemas.openid.net/secevent/risc/event-type/account-enabled"
    package static let verification = "https://schemas.openid.net/secevent/ssf/event-type/verification"
}

extension LoginFactory {
    /// A good security event about the user of a login.
    /// - Parameter audience: The issuer of the broker.
    package func event(_ type: String, of login: Login, audience: String) -> LogoutToken {
        var token = LogoutToken(issuer: issuer, audience: audience, key: key)
        token.header["typ"] = .string("secevent+jwt")
        token.claims["exp"] = nil
        token.claims["sub_id"] = .object(subject(of: login))
        token.claims["events"] = .object(JSONObject([type: .object(JSONObject())]))
        return token
    }

    /// A good JWT for one global token revocation.
    /// - Parameter audience: The issuer of the broker.
    package func revocation(audience: String) -> LogoutToken {
        var token = LogoutToken(
            issuer: issuer, audience: audience + "/global-token-revocation", subject: "client", key: key)
        token.header["typ"] = .string("global-token-revocation+jwt")
        token.claims["events"] = nil
        return token
    }

    /// The subject identifier of its user. RFC 9493 §3.2.3.
    package func subject(of login: Login) -> JSONObject {
        JSONObject([
            "format": .string("iss_sub"), "iss": .string(issuer),
            "sub": .string(login.token.claims.string("sub") ?? ""),
        ])
    }
}

extension HTTPRequest {
    /// Pushes a security event token. RFC 8935 §2.1.
    package static func securityEvent(_ token: String) -> HTTPRequest {
        HTTPRequest(
            "POST", "/security-events", fields: [("Content-Type", "application/secevent+jwt")], body: Array(token.utf8))
    }

    /// - Parameter body: An object whose member `sub_id` names the user.
    package static func globalTokenRevocation(_ token: String, _ body: [UInt8]) -> HTTPRequest {
        HTTPRequest(
            "POST", "/global-token-revocation",
            fields: [("Content-Type", "application/json"), ("Authorization", "Bearer " + token)], body: body)
    }
}
