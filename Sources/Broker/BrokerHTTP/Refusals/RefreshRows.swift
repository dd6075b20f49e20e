// swift-format-ignore-file
// Rows of the table of refusals: see RefusalRow.swift.

package import NativeSSO
import OAuthWire

// MARK: Refresh. RFC 6749 §5.2, RFC 9700 §4.14: one answer for all that depends on the token or on state

extension RefreshRefusal: RefusalCase {
    package var row: RefusalRow {
        switch self {
        case .tokenNotOurs: .init("refresh_token_not_ours",
            "this broker did not issue the refresh token: wrong form, unknown key or changed",
            "Send the refresh_token that the broker gave, unchanged; one of the identity provider's goes to the identity provider.")
        case .assertionReplayed: .assertionReplayed
        case .proofReplayed: .proofReplayed
        case .grantUnknown: .init("grant_unknown", "the grant of the refresh token was deleted after its retention period",
            "The app exchanges again.")
        case .grantRevoked: .init("grant_revoked",
            "the grant was revoked before, by an operator or because a spent refresh token came back",
            "The app exchanges again. If that asks for a login, the user logs in. native-sso audit list --session shows why the grant ended.")
        case .grantExpired: .init("grant_expired", "the grant has reached its lifetime", "The app exchanges again.")

        // RFC 9449 §5: the grant lives on for the app that has the key.
        case .proofMissing: .init("jkt_missing", .invalidProof, "the grant is bound to a key, and there is no DPoP proof",
            "Send a proof by the key of the exchange.")
        case .keyMismatch: .init("jkt_mismatch", .invalidProof, "the DPoP proof is by another key than the grant is bound to",
            "Use the key of the exchange. If it is lost, exchange again.")
        case .proofsOff: .init("dpop_off", "the grant is bound to a key, and the client's DPoP policy is now off",
            "The operator sets it back, or the app exchanges again.")

        // RFC 9700 §4.14.2.
        case .foreignClient: .init("refresh_token_foreign_client",
            "the refresh token was issued to another app, so it was copied; the grant is revoked",
            "Keep refresh tokens out of the shared keychain: each app has its own. The other app exchanges again.")
        case .replayed: .init("refresh_token_reused",
            "the refresh token was used before and its successor is in use, so two parties hold it; the grant is revoked",
            "Store the new refresh token before you use it, and send one refresh at a time. The user logs in again: the broker refuses this app's exchanges of an older login.")
        case .late: .init("refresh_token_late",
            "the refresh token was used before and came back after the grace period, while its successor was never used; the grant is revoked",
            "Repeat an unanswered refresh within seconds, and keep the token in one place. The app exchanges again. A login is needed only if the successor is presented after all.")
        case .superseded: .init("refresh_token_superseded",
            "the refresh token is older than the app's last exchange, which replaced it",
            "Store the tokens of an exchange for all parts of the app. This part exchanges again; no login is needed.")
        case .stateRegressed: .init("state_regressed",
            "the broker issued the refresh token, but its database no longer knows it: the database lost writes; the grant is revoked",
            "The app exchanges again. The operator looks for a restore or a failover that lost recent commits.")
        case .clientDisabled: .clientDisabled
        case .sharingEnded: .init("sharing_ended",
            "the sharing group no longer lets this app use logins of the app that logged in",
            "The operator can allow it again: native-sso group member add.")
        case .sessionEnded: .sessionEnded
        case .sessionExpired: .sessionExpired
        case .sessionIdle: .sessionIdle
        case .deviceBlocked: .deviceBlocked
        // RFC 8707 §2.2.
        case .resourceExceedsGrant: .init("resource_exceeds_grant", .unknownResource,
            "resource is not one of the audiences of the app's last exchange",
            "Send one of the client's audiences, or leave it out. If the operator added the audience since, exchange again.")
        // RFC 6749 §6.
        case .scopeExceedsGrant: .init("scope_exceeds_grant", .scopeBeyondGrant,
            "the scope is beyond what was granted, or what the app may have now", "Ask for less, or leave scope out.")
        case .scopeEmpty: .init("scope_empty", .scopeBeyondGrant,
            "the app is no longer allowed any part of the granted scope: its allowed scope or its ceiling was narrowed",
            "The operator compares native-sso client show with native-sso group show.")
        case .subjectAmbiguous: .init("refresh_sub_ambiguous",
            "since the login, identity_providers lost the user's identity provider, or a subject_prefix there makes the user's sub ambiguous or longer than 255 characters",
            "The operator restores the identity provider and its subject_prefix. Otherwise the user logs in again.")
        }
    }
}
