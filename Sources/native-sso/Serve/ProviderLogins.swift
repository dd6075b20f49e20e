import IdentityProvider
import NativeSSO

/// Where users log in: as configured, or else as the provider's discovery document says.
struct ProviderLogins: LoginDirectory {
    let providers: [(configuration: Configuration.IdentityProvider, keys: ProviderKeys)]

    func authorizationEndpoint(of issuer: Issuer) -> String? {
        guard let provider = providers.first(where: { $0.configuration.issuer == issuer }) else { return nil }
        return provider.configuration.authorizationEndpoint ?? provider.keys.authorizationEndpoint
    }
}
