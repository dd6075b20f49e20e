/// The request checks of an enrolment: what the request, the id_token and the client's registration decide alone.
public struct EnrolmentChecks: Sendable {
    /// First reason against the id_token or its binding.
    let binding: EnrolmentRefusal?
    /// First reason against the scope: last of all.
    let scopeRefusal: EnrolmentRefusal?

    /// `false`: the registry looks, but records nothing, so that this refusal takes the caller as much time as any other.
    public var isPermitted: Bool { binding == nil && scopeRefusal == nil }

    /// The longest time between a login and its enrolment. An app enrols at once; who found the token later comes too late.
    public static let maximumAge: Seconds = .minutes(5)

    package init(
        of request: EnrolmentRequest, _ idToken: IDTokenClaims, at now: UnixTime
    ) {
        binding =
            if idToken.sourceClient != request.client.id || idToken.audience.count != 1 {
                .otherClient
            } else if idToken.expiresAt <= now {
                .expired
            } else if now.since(idToken.issuedAt) > Self.maximumAge {
                .stale
            } else if request.manner == .exchange, !idToken.isBound(to: request.device, mode: request.issuer.hashMode) {
                .deviceHashMismatch
            } else {
                nil
            }
        scopeRefusal = Self.scopeRefusal(request)
    }

    /// `device_sso` asks for the device secret, Native SSO §3.1; it belongs to the login, and to no client's registration.
    private static func scopeRefusal(_ request: EnrolmentRequest) -> EnrolmentRefusal? {
        let named = request.scope ?? .empty
        if request.device == nil {
            guard named.contains(ScopeDemand.ignoredToken) else { return .scopeLacksDeviceSSO }
            guard named.contains("openid") else { return .scopeLacksOpenID }
        }
        let rest = named.removing(ScopeDemand.ignoredToken)
        return rest.isSubset(of: request.client.allowedScope) ? nil : .scopeExceedsClient
    }
}
