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
        named = request.scope
        let wanted = request.scope?.removing(Self.ignoredToken) ?? .empty
        scope = wanted.isEmpty ? request.client.defaultScope.removing(Self.ignoredToken) : wanted
    }

    /// What no consent of the user could mend.
    var refusal: ExchangeRefusal? {
        if profile.requiresOpenIDScope, let named, !named.contains("openid") { return .scopeLacksOpenID }
        if scope.isEmpty { return .scopeEmpty }
        if !scope.isSubset(of: client.allowedScope) { return .scopeExceedsClient }
        return nil
    }
}
