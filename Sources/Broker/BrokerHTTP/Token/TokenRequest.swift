import NativeSSO
import OAuthWire
import StrictCoding

/// A defect in the parameters of a well-formed form.
enum ParameterDefect: Error, Sendable, CaseIterable {
    case grantTypeMissing
    case grantTypeUnknown
    /// A parameter of another grant: the broker does not guess which grant an ambiguous request means.
    case foreignParameter

    case subjectTokenMissing
    case subjectTokenTypeMissing
    case subjectTokenTypeUnsupported
    case actorTokenMissing
    case actorTokenTypeMissing
    case actorTokenTypeUnsupported
    case requestedTokenTypeUnsupported
    case audienceMissing
    case audienceRepeated
    /// In an enrolment.
    case resourcePresent
    case resourceRepeated
    /// None of the client's audiences.
    case resourceForeign
    // In a hand-off to a web app.
    case handoffClientMissing
    case handoffOriginMissing
    case handoffOriginMalformed
    case handoffChallengeMissing
    case handoffChallengeMalformed
    case handoffVerifierMissing
    case scopeMalformed
    case refreshTokenMissing
    case codeMissing
    case redirectURIMissing
    case codeVerifierMissing
    /// At the revocation or introspection endpoint.
    case tokenMissing
}

/// Reads the form and the sender of a token request once into a grant's request: first the parameters, then the
/// configured issuers' rules. No later code reads the form.
struct TokenRequestReader {
    let form: FormParameters
    let client: Client
    let proof: PresentedProof?
    let assertion: PresentedAssertion?
    let requestID: UniqueID
    var trace: UniqueID?
    let issuers: [IssuerPolicy]

    static func grantType(_ form: FormParameters) throws(Refusal) -> GrantType {
        guard let text = form[Parameter.grantType] else { throw .parameter(.grantTypeMissing) }
        guard let grantType = GrantType(octets: text) else { throw .parameter(.grantTypeUnknown) }
        return grantType
    }

    /// Whether an exchange asks for an id_token of this broker. Such an exchange is an enrolment.
    var asksForIDToken: Bool { type(Parameter.requestedTokenType) == .idToken }

    /// Whether an exchange asks for a code that hands the login to a web app.
    var asksForHandoff: Bool { type(Parameter.requestedTokenType) == .webHandoff }

    /// Whether the subject token of an exchange is such a code.
    var redeemsHandoff: Bool { type(Parameter.subjectTokenType) == .webHandoff }

    private func type(_ name: String) -> TokenTypeURI? { form[name].flatMap(TokenTypeURI.init(octets:)) }

    // MARK: Grants

    /// RFC 8693 §2.1, Native SSO §4.1. The actor token's type selects the profile, and `audience` the issuer. No
    /// token's content selects either.
    func exchange() throws(Refusal) -> ExchangeRequest {
        try refuse(Self.foreignToExchange)
        return try exchange(by: client, for: .accessToken)
    }

    /// An exchange for a code that hands the login to a web app. The app gets no tokens, so it may hand off a login of its
    /// own without the permission to exchange it.
    func handoff() throws(Refusal) -> HandoffRequest {
        try refuse(Self.foreignToHandoff)
        try refuseResource()
        guard let web = ClientID(try required(Parameter.handoffClient, .handoffClientMissing)) else {
            throw .parameter(.handoffClientMissing)
        }
        let challenge = try required(Parameter.handoffChallenge, .handoffChallengeMissing)
        guard let challenge = HandoffChallenge(challenge) else { throw .parameter(.handoffChallengeMalformed) }
        var app = client
        app.allowsSelfExchange = true
        return HandoffRequest(
            exchange: try exchange(by: app, for: .webHandoff), webClient: web, origin: try handoffOrigin(),
            challenge: challenge)
    }

    /// The exchange of such a code by the web app.
    func redemption() throws(Refusal) -> RedemptionRequest {
        try refuse(Self.foreignToRedemption)
        guard form.values(of: Parameter.audience).allSatisfy(\.isEmpty) else { throw .parameter(.foreignParameter) }
        let code = try required(Parameter.subjectToken, .subjectTokenMissing)
        try refuseRequestedType(but: .accessToken)
        return RedemptionRequest(
            requestID: requestID, client: client, code: code,
            verifier: try required(Parameter.handoffVerifier, .handoffVerifierMissing), origin: try handoffOrigin(),
            scope: try scope(), resource: try ownResource(), proof: proof, assertion: assertion, trace: trace)
    }

    /// - Parameter wanted: What `requested_token_type` may be.
    private func exchange(by client: Client, for wanted: TokenTypeURI) throws(Refusal) -> ExchangeRequest {
        let subjectToken = try required(Parameter.subjectToken, .subjectTokenMissing)
        let typeIsHyphenated = try subjectTokenTypeIsHyphenated()
        let actorToken = try required(Parameter.actorToken, .actorTokenMissing)
        let profile = try profile()
        let audience = try audience()
        try refuseRequestedType(but: wanted)
        let resource = try ownResource()
        let scope = try scope()

        let issuer = try issuer(named: audience)
        guard issuer.profiles.contains(profile) else { throw .request(.profileNotEnabled) }
        if typeIsHyphenated { try admitHyphen(at: issuer, profile) }
        guard let device = DeviceValue(actorToken, profile: profile) else { throw .request(.actorTokenMalformed) }
        return ExchangeRequest(
            requestID: requestID, client: client, issuer: issuer, subjectToken: SubjectToken(subjectToken),
            device: device, scope: scope, resource: resource, proof: proof, assertion: assertion, trace: trace)
    }

    /// An exchange that asks for an id_token of this broker. A `device_id` selects the 2018 profile. No `device_secret`
    /// exists before its enrolment, so none can be sent.
    func enrolment() throws(Refusal) -> EnrolmentRequest {
        try refuse(Self.foreignToExchange)
        let subjectToken = try required(Parameter.subjectToken, .subjectTokenMissing)
        let typeIsHyphenated = try subjectTokenTypeIsHyphenated()
        var deviceID: String?
        if let type = form[Parameter.actorTokenType] {
            guard TokenTypeURI(octets: type) == .deviceID else { throw .parameter(.actorTokenTypeUnsupported) }
            deviceID = try required(Parameter.actorToken, .actorTokenMissing)
        } else if form[Parameter.actorToken] != nil {
            throw .parameter(.actorTokenTypeMissing)
        }
        let audience = try audience()
        try refuseResource()
        let scope = try scope()

        let issuer = try issuer(named: audience)
        guard issuer.enrolsByExchange else { throw .request(.enrolmentNotEnabled) }
        let profile = deviceID == nil ? Profile.deviceSecret : .deviceID
        guard issuer.profiles.contains(profile) else { throw .request(.profileNotEnabled) }
        if typeIsHyphenated { try admitHyphen(at: issuer, profile) }
        return EnrolmentRequest(
            requestID: requestID, client: client, issuer: issuer, idToken: SubjectToken(subjectToken),
            device: try DeviceValue.id(deviceID, else: .actorTokenMalformed), scope: scope, proof: proof,
            assertion: assertion, trace: trace)
    }

    /// RFC 6749 §4.1.3, RFC 7636 §4.5, Native SSO §3.2 and the 2018 profile.
    ///
    /// `redirect_uri` is required, although not every identity provider demands it: it binds the code to the app's own
    /// address. `audience` may be absent if only one issuer has a code relay, or if the client is in the groups of only one
    /// that has. So a second code relay changes nothing for the apps of the first.
    /// - Parameters:
    ///   - origin: A hash of the caller's address; `nil` if the address is not counted.
    ///   - providers: The issuers in whose sharing groups the client is.
    func code(origin: UInt64?, at providers: Set<Issuer>) throws(Refusal) -> CodeRequest {
        try refuse(Self.foreignToCode)
        let code = PresentedCode(
            code: try required(Parameter.code, .codeMissing),
            redirectURI: try required(Parameter.redirectURI, .redirectURIMissing),
            verifier: try required(Parameter.codeVerifier, .codeVerifierMissing))
        let audience = form.values(of: Parameter.audience).isEmpty ? nil : try audience()
        try refuseResource()
        let scope = try scope()

        let issuer = if let audience { try issuer(named: audience) } else { try relay(among: providers) }
        guard issuer.codeRelay != nil else { throw .request(.relayNotEnabled) }
        let deviceID = form[Parameter.deviceID]
        let profile = deviceID != nil ? Profile.deviceID : scope?.contains("device_sso") == true ? .deviceSecret : nil
        if let profile, !issuer.profiles.contains(profile) { throw .request(.profileNotEnabledForCode) }
        return CodeRequest(
            requestID: requestID, client: client, issuer: issuer, code: code,
            device: try DeviceValue.id(deviceID, else: .deviceIDMalformed), scope: scope, proof: proof, origin: origin,
            trace: trace)
    }

    /// RFC 6749 §6.
    func refresh() throws(Refusal) -> RefreshRequest {
        try refuse(Self.foreignToRefresh)
        guard form.values(of: Parameter.audience).allSatisfy(\.isEmpty) else { throw .parameter(.foreignParameter) }
        let token = try required(Parameter.refreshToken, .refreshTokenMissing)
        return RefreshRequest(
            requestID: requestID, client: client, refreshToken: token, scope: try scope(), resource: try resource(),
            proof: proof, assertion: assertion)
    }

    // MARK: Parameters of other grants

    // `redirect_uri` and `code_verifier` change no meaning and are ignored outside the code grant (RFC 6749 §3.2): an
    // SDK sends its `redirect_uri` with every request.

    /// `device_secret` and `device_id` belong to a code request. Here the device value is the `actor_token`, and a
    /// second value would be ambiguous.
    private static let foreignToExchange = [
        Parameter.refreshToken, Parameter.code, Parameter.username, Parameter.password, Parameter.assertion,
        Parameter.deviceID, Parameter.deviceSecret,
    ]
    private static let foreignToHandoff = foreignToExchange + [Parameter.handoffVerifier]
    /// The web app has no device value.
    private static let foreignToRedemption =
        foreignToExchange + [
            Parameter.actorToken, Parameter.actorTokenType, Parameter.handoffClient, Parameter.handoffChallenge,
        ]
    /// `device_secret` is allowed: an app may send its own with any token request (Native SSO §3.4). The broker ignores
    /// it and always issues a new one.
    private static let foreignToCode = [
        Parameter.subjectToken, Parameter.subjectTokenType, Parameter.actorToken, Parameter.actorTokenType,
        Parameter.requestedTokenType, Parameter.refreshToken, Parameter.username, Parameter.password,
        Parameter.assertion,
    ]
    /// `device_secret` and `device_id` are allowed: they are ignored, and never bind this grant to anything.
    private static let foreignToRefresh = [
        Parameter.subjectToken, Parameter.subjectTokenType, Parameter.actorToken, Parameter.actorTokenType,
        Parameter.requestedTokenType, Parameter.code, Parameter.username, Parameter.password, Parameter.assertion,
    ]

    private func refuse(_ names: [String]) throws(Refusal) {
        for name in names where form[name] != nil { throw .parameter(.foreignParameter) }
    }

    // MARK: Parameters

    private func required(_ name: String, _ defect: ParameterDefect) throws(Refusal) -> String {
        guard let value = form[name] else { throw .parameter(defect) }
        return value
    }

    /// Whether the type is written `…:id-token`: accepted only if the issuer allows it, and only in the 2018 profile.
    private func subjectTokenTypeIsHyphenated() throws(Refusal) -> Bool {
        switch TokenTypeURI(octets: try required(Parameter.subjectTokenType, .subjectTokenTypeMissing)) {
        case .idToken: return false
        case .idTokenHyphenated: return true
        case .accessToken, .refreshToken, .saml1, .saml2, .jwt, .deviceID, .deviceSecretTransitional, .deviceSecret,
            .webHandoff, nil:
            throw .parameter(.subjectTokenTypeUnsupported)
        }
    }

    private func profile() throws(Refusal) -> Profile {
        switch TokenTypeURI(octets: try required(Parameter.actorTokenType, .actorTokenTypeMissing)) {
        case .deviceID: return .deviceID
        case .deviceSecretTransitional: return .deviceSecretTransitional
        case .deviceSecret: return .deviceSecret
        case .accessToken, .refreshToken, .idToken, .idTokenHyphenated, .saml1, .saml2, .jwt, .webHandoff, nil:
            throw .parameter(.actorTokenTypeUnsupported)
        }
    }

    /// Exactly one: RFC 8693 allows several, but Native SSO §4.1 names the issuer. `audience=&audience=x` is two.
    private func audience() throws(Refusal) -> String {
        let values = form.values(of: Parameter.audience)
        guard values.count <= 1 else { throw .parameter(.audienceRepeated) }
        guard let audience = values.first, !audience.isEmpty else { throw .parameter(.audienceMissing) }
        return audience
    }

    /// At most one. RFC 8707 §2 allows several, but an access token for one API or for all of them is enough.
    private func resource() throws(Refusal) -> String? {
        let values = form.values(of: Parameter.resource).filter { !$0.isEmpty }
        guard values.count <= 1 else { throw .parameter(.resourceRepeated) }
        return values.first
    }

    /// The same; only an audience of the client.
    private func ownResource() throws(Refusal) -> String? {
        let resource = try resource()
        if let resource, !client.audiences.contains(where: resource.hasSameOctets) {
            throw .parameter(.resourceForeign)
        }
        return resource
    }

    private func refuseRequestedType(but wanted: TokenTypeURI) throws(Refusal) {
        guard let text = form[Parameter.requestedTokenType] else { return }
        guard TokenTypeURI(octets: text) == wanted else { throw .parameter(.requestedTokenTypeUnsupported) }
    }

    private func handoffOrigin() throws(Refusal) -> WebOrigin {
        guard let origin = WebOrigin(try required(Parameter.handoffOrigin, .handoffOriginMissing)) else {
            throw .parameter(.handoffOriginMalformed)
        }
        return origin
    }

    /// An enrolment or a hand-off gives no access token of this broker.
    private func refuseResource() throws(Refusal) {
        guard form.values(of: Parameter.resource).allSatisfy(\.isEmpty) else { throw .parameter(.resourcePresent) }
    }

    private func scope() throws(Refusal) -> Scope? {
        guard let text = form[Parameter.scope] else { return nil }
        guard let scope = ScopeTokens(text) else { throw .parameter(.scopeMalformed) }
        return Scope(scope.tokens)
    }

    // MARK: Issuers

    /// The issuer of a code request that names none.
    private func relay(among providers: Set<Issuer>) throws(Refusal) -> IssuerPolicy {
        let relays = issuers.filter { $0.codeRelay != nil && !$0.isDisabled }
        let own = relays.count == 1 ? relays : relays.filter { providers.contains($0.issuer) }
        guard own.count == 1 else { throw .parameter(.audienceMissing) }
        return own[0]
    }

    private func issuer(named audience: String) throws(Refusal) -> IssuerPolicy {
        guard let issuer = issuers.first(where: { $0.isNamed(by: audience) })
        else { throw .request(.audienceUnknown) }
        guard !issuer.isDisabled else { throw .request(.providerDisabled) }
        return issuer
    }

    private func admitHyphen(at issuer: IssuerPolicy, _ profile: Profile) throws(Refusal) {
        guard issuer.acceptsHyphenatedIDTokenType, profile == .deviceID else { throw .request(.hyphenatedTokenType) }
    }
}

extension DeviceValue {
    /// A device identifier, if there is one.
    static func id(_ text: String?, else refusal: RequestRefusal) throws(Refusal) -> DeviceValue? {
        guard let text else { return nil }
        guard let device = DeviceValue(text, profile: .deviceID) else { throw .request(refusal) }
        return device
    }
}
