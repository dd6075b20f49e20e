import PostgresClient

/// Every statement of this room: a test prepares each against the migrated schema.
enum RegistryStatements {
    static let all: [Statement] = single + single.compactMap(\.gathering?.statement)

    private static let single: [Statement] =
        [
            ExchangeStatement.statement, RefreshStatement.statement,
            ClientStatements.all, ClientStatements.scopesRequiringConsent,
            CredentialStatements.secrets, CredentialStatements.keys, PostgresAssertionRegister.use,
            EnrolStatement.statement,
            AuditStatements.record, AuditStatements.preparePartitions,
            AdministrativeAct.record,
            Administration.revokeProviderKey,
            SigningKeyStatements.all, SigningKeyStatements.insert,
        ] + KeyStepStatements.all + ProviderKeyStore.statements + Administration.clientStatements
        + Administration.credentialStatements + Administration.groupStatements + Administration.scopeStatements
        + CodeStatements.all + RetentionStatements.all + LogoutStatements.all + SessionStatements.all
        + GrantStatements.all
        + DeviceStatements.all + AuditListStatements.all
}
