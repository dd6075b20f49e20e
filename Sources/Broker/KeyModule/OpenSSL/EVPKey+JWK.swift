import JOSE
import StrictCoding

extension EVPKey {
    /// The public half, named by its RFC 7638 thumbprint.
    func publicKey(_ algorithm: KeyAlgorithm) throws(KeyError) -> JSONWebKey {
        let (parameters, signature) = try publicParameters(algorithm)
        do throws(JSONWebKeyError) {
            let thumbprint = Base64URL.encode(try JSONWebKey(parameters).thumbprint)
            return try JSONWebKey(parameters, keyID: thumbprint, algorithm: signature)
        } catch {
            throw .cryptography("no JWK can be made of the public key: \(error)")
        }
    }

    private func publicParameters(
        _ algorithm: KeyAlgorithm
    ) throws(KeyError) -> (JSONWebKey.Parameters, SignatureAlgorithm) {
        switch algorithm {
        case .es256: (.ec(.p256, x: try number("qx", width: 32), y: try number("qy", width: 32)), .es256)
        case .rs256: (.rsa(modulus: try number("n"), exponent: try number("e")), .rs256)
        case .hs256: throw .algorithmDoesNotFit(algorithm, .accessToken)
        }
    }
}
