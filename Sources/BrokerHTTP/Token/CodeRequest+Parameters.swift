import NativeSSO
import OAuthWire

extension CodeRequest {
    /// The identity provider by `audience`, or the only one that codes are relayed to; the profile by whether a `device_id` is
    /// shown.
    init(
        _ parameters: CodeParameters, client: Client, proof: PresentedProof?, requestID: UniqueID,
        issuers: [IssuerPolicy], origin: UInt64?
    ) throws(Refusal) {
        let issuer = try Self.issuer(parameters.audience, among: issuers)
        let scope = parameters.scope.map { Scope($0.tokens) }
        var device: DeviceValue?
        if let text = parameters.deviceID?.secret {
            guard issuer.profiles.contains(.deviceID) else { throw .request(.profileNotEnabledForCode) }
            device = DeviceValue(text, profile: .deviceID)
            guard device != nil else { throw .request(.deviceIDMalformed) }
        } else if scope?.contains("device_sso") == true {
            guard issuer.profiles.contains(.deviceSecret) else { throw .request(.profileNotEnabledForCode) }
        }
        self.init(
            requestID: requestID, client: client, issuer: issuer,
            code: PresentedCode(
                code: parameters.code.secret, redirectURI: parameters.redirectURI,
                verifier: parameters.codeVerifier.secret),
            device: device, scope: scope, proof: proof, origin: origin)
    }

    private static func issuer(
        _ audience: String?, among issuers: [IssuerPolicy]
    ) throws(Refusal) -> IssuerPolicy {
        guard let audience else {
            let relayed = issuers.filter { $0.codeRelay != nil }
            guard relayed.count == 1 else { throw .parameter(.audienceMissing) }
            return relayed[0]
        }
        guard let issuer = issuers.first(where: { $0.isNamed(by: audience) })
        else { throw .request(.audienceUnknown) }
        guard issuer.codeRelay != nil else { throw .request(.relayNotEnabled) }
        return issuer
    }
}
