/// Collects what is wrong while the configuration is read, so that the operator hears of everything at once.
final class Problems {
    private(set) var errors: [ConfigurationProblem] = []
    private(set) var warnings: [ConfigurationProblem] = []

    func report(_ place: Place, _ message: String) {
        errors.append(ConfigurationProblem(place: place, message: message))
    }

    func warn(_ place: Place, _ message: String) {
        warnings.append(ConfigurationProblem(place: place, message: message))
    }
}
