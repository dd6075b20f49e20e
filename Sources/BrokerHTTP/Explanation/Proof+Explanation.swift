import JOSE

extension DPoPDefect {
    var explanation: RefusalExplanation {
        switch self {
        case .repeated: .init("there are several DPoP proofs", "Send one.")
        case .malformed: .init("the DPoP proof is no compact JWS", "Make it with a library for RFC 9449.")
        case .header: .init("the header of the DPoP proof has what is not understood", "Send typ, alg and jwk.")
        case .wrongType: .init("typ of the DPoP proof is another", "Send dpop+jwt.")
        case .algorithm: .init("alg of the DPoP proof is not for proofs", "Sign with ES256.")
        case .key: .init("the DPoP proof has no usable public key in jwk", "Send the public key as a JWK.")
        case .privateKey:
            .init(
                "jwk of the DPoP proof holds a private key",
                "Make a new key, since this one was sent, and send the public part alone.")
        case .weakKey: .init("the key of the DPoP proof is too weak", "Use a P-256 key.")
        case .signature: .init("the signature of the DPoP proof does not fit its key", "Sign with the key of jwk.")
        case .method: .init("htm of the DPoP proof is not POST", "Send POST.")
        case .target:
            .init(
                "htu of the DPoP proof is not this token endpoint",
                "Send its URL as apps know it; the operator sets it as dpop.token_endpoint.")
        case .issuedAt:
            .init(
                "iat of the DPoP proof is missing, too old or ahead",
                "Make a proof for each request, by a clock that is right.")
        case .tokenID: .init("jti of the DPoP proof is missing or malformed", "Send a random one.")
        case .nonce: .init("nonce of the DPoP proof is no text", "Send it as the DPoP-Nonce header had it.")
        case .accessToken: .init("ath of the DPoP proof is not that of the access token", "Leave it out here.")
        }
    }
}

extension NonceDefect {
    var explanation: RefusalExplanation {
        switch self {
        case .missing:
            .init("the DPoP proof has no nonce", "Try again with the DPoP-Nonce of the answer (RFC 9449 §8).")
        case .unknown:
            .init("no broker here made the nonce of the DPoP proof", "Try again with the DPoP-Nonce of the answer.")
        case .stale: .init("the nonce of the DPoP proof is too old", "Try again with the DPoP-Nonce of the answer.")
        }
    }
}
