import NativeSSO
import OAuthWire

extension EnrolmentRequest {
    /// The identity provider by `audience`, the profile by whether a `device_id` is shown.
    convenience init(
        _ parameters: EnrolmentParameters, client: Client, proof: PresentedProof?, assertion: PresentedAssertion?,
        requestID: UniqueID, issuers: [IssuerPolicy]
    ) throws(Refusal) {
        guard let issuer = issuers.first(where: { $0.isNamed(by: parameters.audience) })
        else { throw .request(.audienceUnknown) }
        guard issuer.enrolsByExchange else { throw .request(.enrolmentNotEnabled) }
        let profile = parameters.deviceID == nil ? Profile.deviceSecret : .deviceID
        guard issuer.profiles.contains(profile) else { throw .request(.profileNotEnabled) }
        if parameters.subjectTokenType == .idTokenHyphenated {
            guard issuer.acceptsHyphenatedIDTokenType, profile == .deviceID
            else { throw .request(.hyphenatedTokenType) }
        }
        var device: DeviceValue?
        if let text = parameters.deviceID?.secret {
            device = DeviceValue(text, profile: .deviceID)
            guard device != nil else { throw .request(.actorTokenMalformed) }
        }
        self.init(
            requestID: requestID, client: client, issuer: issuer,
            idToken: SubjectToken(parameters.subjectToken.secret), device: device,
            scope: parameters.scope.map { Scope($0.tokens) }, proof: proof, assertion: assertion)
    }
}
