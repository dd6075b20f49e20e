extension ExchangeRequest {
    /// Whether the answer has a refresh token.
    var hasRefreshToken: Bool { profile == .deviceID || client.issuesRefreshToken }

    /// The scope that a grant would hold, and the first reason against it that no consent of the user can remove.
    var demand: (scope: Scope, refusal: ExchangeRefusal?) {
        let named = scope?.withoutLogin
        let demanded =
            if let named, !named.isEmpty { named } else { client.defaultScope.withoutLogin ?? .empty }
        if profile.requiresOpenIDScope, let named, !named.contains("openid") { return (demanded, .scopeLacksOpenID) }
        if demanded.isEmpty { return (demanded, .scopeEmpty) }
        return (demanded, demanded.isSubset(of: client.allowedScope) ? nil : .scopeExceedsClient)
    }

    /// The scope of a login after which the client gets this scope. A request that names only scopes of a login
    /// asks for the default scope too.
    package var loginScope: Scope {
        guard let scope else { return client.defaultScope }
        return scope.withoutLogin == nil ? Scope(client.defaultScope.tokens + scope.tokens) : scope
    }
}

/// A set of scope tokens in the order in which they were first named. RFC 6749 §3.3.
package struct Scope: Hashable, Sendable, CustomStringConvertible {
    package let tokens: [String]

    /// Collapses duplicates. The caller has checked each token's characters (%x21 / %x23-5B / %x5D-7E).
    package init(_ tokens: [String]) {
        self.tokens = tokens.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }

    package static let empty = Scope([])

    /// Asks the IdP for a device secret. Native SSO §3.1.
    static let deviceSSO = "device_sso"
    /// Asks the IdP for a refresh token. OpenID Connect Core §11.
    private static let offlineAccess = "offline_access"

    /// Without the scopes of a login at the IdP, which SDKs send with every request: the broker drops them silently and
    /// never grants them. `nil` if nothing else is named, as if the request named no scope.
    var withoutLogin: Scope? {
        guard contains(Self.deviceSSO) || contains(Self.offlineAccess) else { return self }
        let rest = removing(Self.deviceSSO).removing(Self.offlineAccess)
        return rest.isEmpty ? nil : rest
    }

    package var isEmpty: Bool { tokens.isEmpty }

    package func contains(_ token: String) -> Bool { tokens.contains(token) }

    package func isSubset(of other: Scope) -> Bool { tokens.allSatisfy(other.tokens.contains) }

    package func isDisjoint(with other: Scope) -> Bool { !tokens.contains(where: other.tokens.contains) }

    package func intersection(_ other: Scope) -> Scope { Scope(tokens.filter(other.tokens.contains)) }

    package func removing(_ token: String) -> Scope { Scope(tokens.filter { $0 != token }) }

    /// The form in which it travels: tokens separated by single spaces.
    package var description: String { tokens.joined(separator: " ") }

    /// Order does not matter (RFC 6749 §3.3).
    package static func == (a: Scope, b: Scope) -> Bool { a.tokens.count == b.tokens.count && a.isSubset(of: b) }

    package func hash(into hasher: inout Hasher) { hasher.combine(Set(tokens)) }
}
