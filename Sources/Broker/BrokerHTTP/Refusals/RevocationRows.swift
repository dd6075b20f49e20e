// swift-format-ignore-file
// Rows of the table of refusals: see RefusalRow.swift.

package import NativeSSO
import OAuthWire

// MARK: Revocation. RFC 7009 §2.1, §2.2.1

extension RevocationRefusal: RefusalCase {
    package var row: RefusalRow {
        switch self {
        case .unsupportedTokenType: .init("revocation_unsupported_token_type",
            .badRequest(.unsupportedTokenType, "Only refresh tokens and device secrets can be revoked."),
            "the token to be revoked is a JWT, such as an access token or an id_token",
            "Revoke the refresh token or the device_secret. An access token ends by itself within minutes.")
        case .foreignClient: .init("revocation_foreign_client",
            "the refresh token to be revoked belongs to another client", "An app revokes its own tokens.")
        }
    }
}
