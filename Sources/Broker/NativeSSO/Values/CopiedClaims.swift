package import StrictCoding

/// The claims of an id_token that a client's access tokens repeat. The operator lists their names for each client.
package struct CopiedClaims: Sendable, Equatable {
    /// The longest list of names.
    package static let mostNames = 8
    /// The largest size, in octets of JSON.
    static let maximumSize = 2 << 10

    /// The broker sets these claims itself, or they tell one kind of token from another. An API must never take an
    /// IdP's value for the broker's.
    private static let reserved = [
        "iss", "sub", "aud", "azp", "exp", "iat", "nbf", "jti", "client_id", "scope", "scp", "idp", "session_id", "sid",
        "auth_time", "acr", "amr", "cnf", "act", "may_act", "nonce", "ds_hash", "di_hash", "at_hash", "c_hash",
        "s_hash", "events",
    ]

    package private(set) var object = JSONObject()

    package init() {}

    /// Reads what ``text`` wrote; `nil`: it did not write this.
    package init?(text: String) {
        guard let object = try? JSONReader.parse(text.utf8).object, !object.names.contains(where: Self.isReserved)
        else { return nil }
        self.object = object
    }

    /// The claims with these names, in the order of the list, as long as they fit.
    /// - Returns: The claims, and the names of those that did not fit.
    static func copy(_ names: [String], of idToken: JSONObject) -> (claims: CopiedClaims, leftOut: [String]) {
        var (claims, leftOut) = (CopiedClaims(), [String]())
        for name in names where !isReserved(name) {
            guard let value = idToken[name] else { continue }
            var longer = claims
            longer.object[name] = value
            if longer.object.octets.count <= maximumSize { claims = longer } else { leftOut.append(name) }
        }
        return (claims, leftOut)
    }

    /// Whether no client may list this name.
    package static func isReserved(_ name: String) -> Bool { reserved.contains(where: name.hasSameOctets) }

    /// Without the claims that are not in the list.
    func only(_ names: [String]) -> CopiedClaims {
        var claims = self
        for name in object.names where !names.contains(where: name.hasSameOctets) { claims.object[name] = nil }
        return claims
    }

    /// One JSON object; `nil`: there are no claims.
    package var text: String? { object.isEmpty ? nil : String(decoding: object.octets, as: UTF8.self) }
}
