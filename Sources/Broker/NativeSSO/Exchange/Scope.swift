/// The scope that an exchange asks for, as this broker reads it.
struct ScopeDemand {
    /// What would be granted.
    let scope: Scope
    private let named: Scope?
    private let client: Client
    private let profile: Profile

    /// `device_sso` belongs to the login of app 1 (Native SSO §3.1) and means nothing here; one widespread client SDK
    /// sends it all the same, so it is dropped and never granted.
    static let ignoredToken = "device_sso"

    init(_ request: ExchangeRequest) {
        client = request.client
        profile = request.profile
        named = Self.heeded(request.scope)
        let wanted = named ?? .empty
        scope = wanted.isEmpty ? request.client.defaultScope.removing(Self.ignoredToken) : wanted
    }

    /// What a request asks for, as far as it is heeded; `nil`: nothing, so that it is as if no scope had been named.
    static func heeded(_ scope: Scope?) -> Scope? {
        guard let scope, scope.contains(ignoredToken) else { return scope }
        let rest = scope.removing(ignoredToken)
        return rest.isEmpty ? nil : rest
    }

    /// What no consent of the user could mend.
    var refusal: ExchangeRefusal? {
        if profile.requiresOpenIDScope, let named, !named.contains("openid") { return .scopeLacksOpenID }
        if scope.isEmpty { return .scopeEmpty }
        if !scope.isSubset(of: client.allowedScope) { return .scopeExceedsClient }
        return nil
    }
}

extension ExchangeRequest {
    /// What a login of the client has to be for, so that it gets what it asks for: a request that names nothing but `device_sso`
    /// asks for the default, and says that its login is to be shared.
    package var loginScope: Scope {
        guard let scope else { return client.defaultScope }
        return ScopeDemand.heeded(scope) == nil ? Scope(client.defaultScope.tokens + scope.tokens) : scope
    }
}

/// A set of scope tokens in the order in which they were first named. RFC 6749 §3.3.
package struct Scope: Hashable, Sendable, CustomStringConvertible {
    package let tokens: [String]

    /// Collapses duplicates. The caller has checked each token's characters (%x21 / %x23-5B / %x5D-7E).
    package init(_ tokens: some Sequence<String>) {
        self.tokens = tokens.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }

    package static let empty = Scope([])

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
