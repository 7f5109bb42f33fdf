//! What makes a struct a Kubernetes object: the macro `kind!` and the trait [`Kind`].

use kube_core::Resource;
use serde::{Serialize, de::DeserializeOwned};

/// One kind in one version, known at compile time.
pub trait Kind: Resource<DynamicType = ()> + Clone + Serialize + DeserializeOwned {
    /// Group, version, plural, kind and scope.
    const RESOURCE: crate::Resource;

    /// What the object says it is: `apiVersion` and `kind`.
    fn type_meta(&self) -> (&str, &str);
}

/// Declares the outermost struct of a kind: type and object metadata, spec, status, and what we do not know.
macro_rules! kind {
    (
        $(#[$meta:meta])*
        $scope:ident $name:ident($group:expr, $version:literal, $plural:literal) {
            $(#[$spec_meta:meta])* spec: $spec:ty,
            $(#[$status_meta:meta])* status: $status:ty,
        }
    ) => {
        #[serde_with::skip_serializing_none]
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        $(#[$meta])*
        #[serde(rename_all = "camelCase")]
        pub struct $name {
            /// Group and version of this object.
            #[serde(default)]
            pub api_version: String,
            /// Kind of this object.
            #[serde(default)]
            pub kind: String,
            /// Name, labels, annotations and what else the API server keeps about every object.
            #[serde(default)]
            #[schemars(schema_with = "crate::parts::metadata_schema", description = "")]
            pub metadata: k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta,
            $(#[$spec_meta])*
            pub spec: $spec,
            /// What the controller observed last.
            $(#[$status_meta])*
            pub status: Option<$status>,
            /// Fields of newer releases.
            #[serde(flatten)]
            #[schemars(skip)]
            pub extra: crate::parts::Extra,
        }

        impl $name {
            /// A new object of this kind without status.
            pub fn new(name: &str, spec: $spec) -> Self {
                let metadata = k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
                    name: Some(name.to_owned()),
                    ..Default::default()
                };
                Self {
                    api_version: format!("{}/{}", $group, $version),
                    kind: stringify!($name).to_owned(),
                    metadata,
                    spec,
                    status: None,
                    extra: crate::parts::Extra::new(),
                }
            }
        }

        impl kube_core::Resource for $name {
            type DynamicType = ();
            type Scope = crate::kind::kind!(@scope $scope);

            fn kind((): &()) -> std::borrow::Cow<'_, str> {
                stringify!($name).into()
            }

            fn group((): &()) -> std::borrow::Cow<'_, str> {
                $group.into()
            }

            fn version((): &()) -> std::borrow::Cow<'_, str> {
                $version.into()
            }

            fn plural((): &()) -> std::borrow::Cow<'_, str> {
                $plural.into()
            }

            fn meta(&self) -> &k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
                &self.metadata
            }

            fn meta_mut(&mut self) -> &mut k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
                &mut self.metadata
            }
        }

        impl crate::kind::Kind for $name {
            const RESOURCE: crate::Resource = crate::resource!($group, $version, $plural, stringify!($name), $scope);

            fn type_meta(&self) -> (&str, &str) {
                (&self.api_version, &self.kind)
            }
        }
    };
    (@scope Namespaced) => { kube_core::NamespaceResourceScope };
    (@scope Cluster) => { kube_core::ClusterResourceScope };
}

pub(crate) use kind;
