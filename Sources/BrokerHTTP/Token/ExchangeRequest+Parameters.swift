import NativeSSO
import OAuthWire

extension ExchangeRequest {
    /// Steps 9 and 10: the profile by the type of the actor token, the issuer by `audience`, never by what a token says.
    convenience init(
        _ parameters: TokenExchangeParameters, client: Client, proof: PresentedProof?, assertion: PresentedAssertion?,
        requestID: UniqueID, issuers: [IssuerPolicy]
    ) throws(Refusal) {
        guard let issuer = issuers.first(where: { $0.isNamed(by: parameters.audience) })
        else { throw .request(.audienceUnknown) }
        let profile = Profile(parameters.actorTokenType)
        guard issuer.profiles.contains(profile) else { throw .request(.profileNotEnabled) }
        if parameters.subjectTokenType == .idTokenHyphenated {
            guard issuer.acceptsHyphenatedIDTokenType, profile == .deviceID
            else { throw .request(.hyphenatedTokenType) }
        }
        guard let device = DeviceValue(parameters.actorToken.secret, profile: profile)
        else { throw .request(.actorTokenMalformed) }
        self.init(
            requestID: requestID, client: client, issuer: issuer,
            subjectToken: SubjectToken(parameters.subjectToken.secret), device: device,
            scope: parameters.scope.map { Scope($0.tokens) }, proof: proof, assertion: assertion)
    }
}

extension Profile {
    init(_ type: TokenExchangeParameters.ActorTokenType) {
        switch type {
        case .deviceID: self = .deviceID
        case .deviceSecretTransitional: self = .deviceSecretTransitional
        case .deviceSecret: self = .deviceSecret
        }
    }
}
