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
    public var loginScope: Scope {
        guard let scope else { return client.defaultScope }
        return ScopeDemand.heeded(scope) == nil ? Scope(client.defaultScope.tokens + scope.tokens) : scope
    }
}
